//! `netfathom burn`: a load of known intensity.

use std::process::ExitCode;

use anyhow::Result;
use netfathom_measure::kind::cost::burn::{BurnError, burn};

use crate::args::BurnArgs;
use crate::{output, stop};

pub fn run(args: &BurnArgs) -> Result<ExitCode> {
    let stop = stop::on_signals()?;
    let burnt = match burn(&args.plan(), &stop, &say) {
        Err(error @ (BurnError::Nothing | BurnError::Range(_))) => output::understood(Err(error))?,
        outcome => outcome?,
    };
    burnt.behind.iter().for_each(|what| say(&format!("did not sustain its rate: {what}")));
    output::answer(&serde_json::to_string(&burnt)?)
}

fn say(what: &str) {
    output::complain(&anyhow::anyhow!("{what}"));
}
