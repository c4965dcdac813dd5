//! The binary `netfathom`: arguments in, a measurement run, a record and its pictures out.

use std::process::ExitCode;

use anyhow::{Error, Result};
use netfathom_fleet::FleetError;
use netfathom_measure::ground::error::{Failure, Mistake};
use netfathom_results::compare::CompareError;

mod args;
mod browser;
mod burn;
mod capacity;
mod compare;
mod completions;
mod cost;
mod counterpart;
mod export;
mod fleet;
mod guard;
mod host;
mod http;
mod invocation;
mod join;
mod keep;
mod light;
mod load;
mod manual;
mod marks;
mod message;
mod output;
mod plans;
mod progress;
mod report;
mod reproduce;
mod reverse;
mod runs;
mod sink_events;
mod stack;
mod stop;
mod target;
mod ttcp;
mod view;
mod watch;

use args::{Args, Command};
use netfathom_sys::memory::Allocator;
use output::Misused;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    let typed = args::as_called(std::env::args_os());
    args::parsed(typed).map_or_else(|error| output::of_parser(&error), run).unwrap_or_else(|error| {
        if is_usage(&error) {
            return output::wrong_usage(&error);
        }
        output::complain(&error);
        exit::FAILED.into()
    })
}

/// What the user named wrongly is wrong usage, whichever command finds that.
fn is_usage(error: &Error) -> bool {
    let fleet = error.downcast_ref::<FleetError>().and_then(Failure::mistake);
    fleet == Some(Mistake::Named) || error.is::<CompareError>() || error.is::<Misused>()
}

fn run(args: Args) -> Result<ExitCode> {
    stop::report_file_limits()?;
    match args.command {
        Command::Host(args) => host::run(&args),
        Command::Stack(args) => stack::run(&args),
        Command::Load(command) => load::run(&command),
        Command::Capacity(args) => capacity::run(&args),
        Command::Reverse(args) => reverse::run(&args),
        Command::Join(args) => join::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Ttcp(args) => ttcp::run(&args),
        Command::Message(command) => message::run(&command),
        Command::Cost(args) => cost::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Fleet(command) => fleet::run(&command),
        Command::Agent(args) => fleet::agent(&args),
        Command::Light(args) => light::run(&args),
        Command::Burn(args) => burn::run(&args),
        Command::Marks(args) => marks::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Runs(args) => runs::run(&args),
        Command::View(args) => view::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => manual::run(&args),
    }
}

/// Exit statuses, the same for every command.
mod exit {
    /// The measurement could not be made.
    pub const FAILED: u8 = 1;
    /// Wrong usage; also clap's own.
    pub const USAGE: u8 = 2;
    pub const VOID: u8 = 3;
    /// A comparison is beyond its threshold.
    pub const BEYOND: u8 = 4;
    /// Hosts or pairs of a fleet are missing.
    pub const PARTIAL: u8 = 5;
    /// A threshold is inconclusive, and was to be decided.
    pub const UNDECIDED: u8 = 6;
}
