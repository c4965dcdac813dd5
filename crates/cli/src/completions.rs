//! `netfathom completions`: what a shell needs to complete commands and options.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_complete::{generate, shells};

use crate::args::{Args, CompletionsArgs, Shell};
use crate::output;

const NAME: &str = "netfathom";

pub fn run(args: &CompletionsArgs) -> Result<ExitCode> {
    let (mut command, mut script) = (shown(&Args::command()), Vec::new());
    match args.shell {
        Shell::Bash => generate(shells::Bash, &mut command, NAME, &mut script),
        Shell::Zsh => generate(shells::Zsh, &mut command, NAME, &mut script),
        Shell::Fish => generate(shells::Fish, &mut command, NAME, &mut script),
    }
    output::answer(&String::from_utf8(script).context("completions are no text")?)
}

/// Without the commands that help pages do not show either; the generators would offer them.
fn shown(all: &Command) -> Command {
    Command::new(NAME)
        .version(env!("CARGO_PKG_VERSION"))
        .args(all.get_arguments())
        .subcommands(all.get_subcommands().filter(|below| !below.is_hide_set()))
}
