//! Options that a command does not have: what to do instead.

use std::ffi::OsString;
use std::net::IpAddr;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, FromArgMatches};
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

/// Options of iperf3, netperf, sockperf and hyperfine, and ours that do the same: the first that the command has.
const ELSEWHERE: [(&str, &[&str]); 10] = [
    ("--duration", &["time-limit", "time"]),
    ("--time", &["time-limit"]),
    ("--threads", &["workers", "parallel"]),
    ("--parallel", &["workers"]),
    ("--streams", &["parallel"]),
    ("--runs", &["trials", "rounds"]),
    ("--rate", &["profile"]),
    ("--bitrate", &["profile"]),
    ("--msg-size", &["size", "sizes"]),
    ("--length", &["size", "sizes"]),
];

/// Reads the arguments.
///
/// # Errors
/// What is wrong with them, and what to do; also the help, where it is asked for.
pub fn parsed(typed: Vec<OsString>) -> Result<Args, clap::Error> {
    let words: Vec<String> = typed.iter().skip(1).map(|word| word.to_string_lossy().into()).collect();
    let matches = Args::command().mut_subcommands(brief).try_get_matches_from(typed);
    matches.and_then(|matches| Args::from_arg_matches(&matches)).map_err(|error| advised(error, &words))
}

/// The command that the first words name.
fn named(words: &[String]) -> Command {
    let mut command = Args::command();
    for word in words {
        let Some(below) = command.find_subcommand(word) else { break };
        command = below.clone();
    }
    command
}

/// Whether a word is a command of netfathom.
pub fn is_ours(word: &str) -> bool {
    Args::command().find_subcommand(word).is_some()
}

fn advised(mut error: clap::Error, words: &[String]) -> clap::Error {
    if error.kind() == ErrorKind::ArgumentConflict {
        if let Some(tips) = from_iperf3(words, "") {
            suggest(&mut error, tips);
        }
        return error;
    }
    if let Some(tip) = record_as_json(&error) {
        suggest(&mut error, vec![tip]);
    }
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
    // With another first letter it is another word rather than a slip.
    let is_slip =
        |of: &ContextValue| matches!(of, ContextValue::String(similar) if similar.get(..3) == name.get(..3));
    if error.get(ContextKind::SuggestedArg).is_some_and(|of| !is_slip(of)) {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Usage);
    }
    if let Some(ours) = ours(&named(words), name) {
        let similar = match error.remove(ContextKind::SuggestedArg) {
            // Its beginning is rather a slip than another program's.
            Some(ContextValue::String(similar)) if similar != ours && name.starts_with(&similar) => {
                ContextValue::Strings(vec![ours, similar])
            }
            _ => ContextValue::String(ours),
        };
        error.insert(ContextKind::SuggestedArg, similar);
        // It has the option that clap finds most similar.
        error.remove(ContextKind::Usage);
    } else if let Some(tips) = instead(words, name)
        .or_else(|| from_iperf3(words, name))
        .or_else(|| separated(words, &option).map(|tip| vec![tip]))
    {
        suggest(&mut error, tips);
    }
    error
}

fn suggest(error: &mut clap::Error, tips: Vec<String>) {
    let tips = tips.into_iter().map(Into::into).collect();
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
}

/// What replaces options of iperf3 that `ttcp` lacks, or has with another meaning.
fn from_iperf3(words: &[String], option: &str) -> Option<Vec<String>> {
    let tip = match option {
        "-c" | "--client" => "to send to HOST: netfathom ttcp -ts HOST".into(),
        "-R" | "--reverse" => "to reverse the direction, run -ts on the other host and -rs here".into(),
        "-J" => "JSON: --json; in iperf3's form: --out runs, then netfathom export last --to iperf3".into(),
        _ => words.windows(2).find_map(|two| with_value(&two[0], &two[1], option))?,
    };
    let other = "other options of iperf3: docs/from-iperf3.md".into();
    (words.first()? == "ttcp").then(|| vec![tip, other])
}

/// Where the record is that `export --to json` would write.
fn record_as_json(error: &clap::Error) -> Option<String> {
    let is = |kind, text: &str| error.get(kind) == Some(&ContextValue::String(text.into()));
    let asked = is(ContextKind::InvalidArg, "--to <FORMAT>") && is(ContextKind::InvalidValue, "json");
    let tip = "the record is JSON already: RUN/record.json; a summary: netfathom runs show RUN --json";
    asked.then(|| tip.into())
}

/// An option that takes no value here, with a value that iperf3 takes. Where an option was refused, what follows -B is HOST.
fn with_value(option: &str, value: &str, refused: &str) -> Option<String> {
    match option {
        "-t" if value.parse::<u32>().is_ok() => {
            Some(format!("-t transmits; to send for that long: --time {value}s"))
        }
        "-B" if value.parse::<IpAddr>().is_ok() && !refused.starts_with('-') => Some(
            "-B means whole blocks; a sender cannot choose its address; a receiver listens on HOST".into(),
        ),
        _ => None,
    }
}

/// The option of ours for one of another program.
fn ours(command: &Command, option: &str) -> Option<String> {
    let (_, ours) = ELSEWHERE.iter().find(|(theirs, _)| *theirs == option)?;
    let has = |long: &&str| command.get_arguments().any(|arg| arg.get_long() == Some(*long));
    Some(format!("--{}", ours.iter().copied().find(has)?))
}

/// The line as it was meant, where a program to be started has no -- before it.
fn separated(words: &[String], unknown: &str) -> Option<String> {
    let is_program =
        |arg: &Arg| arg.is_last_set() && arg.get_value_names().is_some_and(|of| of[0] == "COMMAND");
    let takes_program = named(words).get_positionals().any(is_program);
    let at = words.iter().rposition(|word| word == unknown).filter(|_| !unknown.starts_with('-'))?;
    let joined = |words: &[String]| shlex::try_join(words.iter().map(String::as_str)).ok();
    let (before, program) = (joined(&words[..at])?, joined(&words[at..])?);
    takes_program.then(|| format!("write -- before the command: netfathom {before} -- {program}"))
}

fn instead(words: &[String], option: &str) -> Option<Vec<String>> {
    let command = words.first()?;
    let own_messages = CATALOGUE.iter().any(|entry| entry.own_messages && entry.command == command);
    (own_messages && WATCHING.contains(&option)).then(|| {
        vec![
            format!(
                "`{command}` measures its own test messages, not those of other programs: it has no {option}"
            ),
            "where the messages of a running program spend their time, TCP: netfathom watch --pid PID".into(),
            "the same of UDP: netfathom join CAPTURE LOG".into(),
            "what limits a transfer to or from it: netfathom ttcp --explain".into(),
            "what a running process takes from others: netfathom cost --pid PID".into(),
            "each of them step by step: docs/your-server.md".into(),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> String {
        let typed = line.split(' ').map(Into::into).collect();
        parsed(typed).unwrap_err().to_string()
    }

    #[test]
    fn options_of_other_programs_lead_to_ours() {
        for (line, ours) in [
            ("capacity --threads 2", "--workers"),
            ("load send --threads 2", "--workers"),
            ("ttcp -ts --threads 2 h", "--parallel"),
            ("ttcp -ts --streams 2 h", "--parallel"),
            ("stack --parallel 2", "--workers"),
            ("stack --duration 5", "--time-limit"),
            ("stack --time=5s", "--time-limit"),
            ("ttcp -ts --duration 5s h", "--time"),
            ("cost --duration 5s", "--time"),
            ("watch --duration 5s", "--time"),
            ("stack --runs 3", "--trials"),
            ("message pingpong --runs 3", "--trials"),
            ("stack --msg-size 64", "--size"),
            ("message post --length 64", "--sizes"),
            ("stack --rate 10k", "--profile"),
            ("load send --bitrate 1m", "--profile"),
        ] {
            let shown = refused(&format!("netfathom {line}"));
            assert!(shown.contains(&format!("a similar argument exists: '{ours}'\n")), "{line}: {shown}");
            assert!(!shown.contains("Usage"), "{line}: {shown}");
        }
        // It has nothing of that kind.
        assert!(!refused("netfathom capacity --duration 5s").contains("similar"));
        let shown = refused("netfathom watch --device eth9");
        assert!(!shown.contains("similar") && !shown.contains("--serve"), "{shown}");
        let shown = refused("netfathom compare --runs 4");
        assert!(shown.contains("'--rounds'") && shown.contains("'--run'"), "{shown}");
    }

    #[test]
    fn options_of_iperf3_lead_to_those_of_ttcp() {
        for (line, ours) in [
            ("-ts -t 10 h", "--time 10s"),
            ("-t 10 h", "--time 10s"),
            ("-c h -t 10", "ttcp -ts HOST"),
            ("-ts -R h", "-rs here"),
            ("-ts -J h", "--json"),
            ("-ts -B 127.0.0.2 127.0.0.1", "cannot choose its address"),
            ("-ts -B ::1 h", "cannot choose its address"),
        ] {
            let shown = refused(&format!("netfathom ttcp {line}"));
            assert!(shown.contains(ours) && shown.contains("docs/from-iperf3.md"), "{line}: {shown}");
        }
        assert!(!refused("netfathom ttcp -t -t h").contains("iperf3"));
        assert!(!refused("netfathom ttcp -r -B h other").contains("iperf3"));
        assert!(!refused("netfathom ttcp -r -B ::1 --other").contains("iperf3"));
    }

    #[test]
    fn a_program_without_its_hyphens_gets_them() {
        let shown = refused("netfathom cost --quick tcpdump -i lo");
        assert!(shown.contains("netfathom cost --quick -- tcpdump -i lo\n"), "{shown}");
        let shown = refused("netfathom cost --service tcpdump tcpdump -i lo");
        assert!(shown.contains("--service tcpdump -- tcpdump -i lo\n"), "{shown}");
        assert!(!refused("netfathom host tcpdump").contains(" -- "));
        assert!(!refused("netfathom fleet up --hosts f foo").contains("before the command"));
    }
}
