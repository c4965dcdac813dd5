//! `netfathom host`: what can be measured on this machine.

use std::process::ExitCode;

use anyhow::Result;
use netfathom_measure::kind::host;
use netfathom_results::story;
use netfathom_sys::limits;

use crate::args::HostArgs;
use crate::output;

pub fn run(args: &HostArgs) -> Result<ExitCode> {
    // What could not be tried would be shown as missing.
    limits::check()?;
    let report = host::probe();
    if args.json {
        return output::answer(&serde_json::to_string(&report)?);
    }
    output::page(&story::host::of(&report), args.verbose)?;
    if !args.verbose {
        output::print("\nmore: netfathom host -v")?;
    }
    Ok(ExitCode::SUCCESS)
}
