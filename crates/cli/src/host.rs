//! `netfathom host`: what can be measured on this machine.

use std::process::ExitCode;

use anyhow::Result;
use netfathom_measure::kind::host;
use netfathom_results::{draw, story};
use netfathom_sys::limits;

use crate::args::HostArgs;
use crate::output;

pub fn run(args: &HostArgs) -> Result<ExitCode> {
    // What could not be tried would be told as missing.
    limits::check()?;
    let report = host::probe();
    output::print(&if args.json {
        serde_json::to_string(&report)?
    } else {
        draw::terminal(&story::host::of(&report), output::width(), output::color())
    })?;
    Ok(ExitCode::SUCCESS)
}
