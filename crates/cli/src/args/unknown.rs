//! Options that a command does not have: what to do instead.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use netfathom_model::record::CATALOGUE;

use super::Args;
use super::brief::brief;

/// Options by which programs that watch others choose their target.
const WATCHING: [&str; 12] = [
    "--pid",
    "-p",
    "--comm",
    "--process",
    "--program",
    "--name",
    "--interface",
    "--iface",
    "--dev",
    "-i",
    "--filter",
    "--attach",
];

/// Reads the arguments.
///
/// # Errors
/// What is wrong with them, and what to do; also the help, where it is asked for.
pub fn parsed(typed: Vec<OsString>) -> Result<Args, clap::Error> {
    let command = typed.get(1).and_then(|word| word.to_str()).unwrap_or_default().to_owned();
    let matches = Args::command().mut_subcommands(brief).try_get_matches_from(typed);
    matches.and_then(|matches| Args::from_arg_matches(&matches)).map_err(|error| advised(error, &command))
}

fn advised(mut error: clap::Error, command: &str) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg).cloned() else {
        return error;
    };
    // That an option may be passed as a value helps no one: no value of ours begins with a hyphen.
    if let Some(ContextValue::StyledStrs(tips)) = error.remove(ContextKind::Suggested) {
        let others =
            tips.into_iter().filter(|tip| !tip.to_string().contains("as a value")).collect::<Vec<_>>();
        if !others.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(others));
        }
    }
    let name = option.split(['=', ' ']).next().unwrap_or_default();
    let own_messages = CATALOGUE.iter().any(|entry| entry.own_messages && entry.command == command);
    if own_messages && WATCHING.contains(&name) {
        let tips = instead(command, name).map(Into::into).to_vec();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

fn instead(command: &str, option: &str) -> [String; 6] {
    [
        format!(
            "`{command}` measures its own test messages, not those of other programs: it has no {option}"
        ),
        "where the messages of a running program spend their time, TCP: netfathom watch --pid PID".into(),
        "the same of UDP: netfathom join CAPTURE LOG".into(),
        "what limits a transfer to or from it: netfathom ttcp --explain".into(),
        "what a running process takes from others: netfathom cost --pid PID".into(),
        "each of them step by step: docs/your-server.md".into(),
    ]
}
