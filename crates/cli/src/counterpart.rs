//! The serving end of a measurement that another host starts (`message serve`, `reverse serve`), from its first line to its
//! exit status.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use netfathom_measure::load::control::ServeEvent;
use netfathom_model::print::counted;

use crate::sink_events::reachable;
use crate::{exit, output, stop};

/// `command` is what the other host runs. One that was lost fails a counterpart that was to serve a number of them.
pub fn serve(
    command: &str,
    most: Option<u32>,
    serve: impl FnOnce(&mut dyn FnMut(ServeEvent), &AtomicBool) -> Result<()>,
) -> Result<ExitCode> {
    let stop = stop::on_signals().context("cannot listen for signals")?;
    let mut lost = false;
    let mut tell = |event| {
        lost |= matches!(event, ServeEvent::Lost { .. });
        // A reader that has gone is no reason to stop serving.
        let _ = output::print(&line(command, &event));
    };
    serve(&mut tell, &stop)?;
    Ok(if lost && most.is_some() { exit::FAILED.into() } else { ExitCode::SUCCESS })
}

fn line(command: &str, event: &ServeEvent) -> String {
    match event {
        ServeEvent::Listening { at, cpu } => format!(
            "listening on {at}, TCP and UDP, CPU {cpu}; on another host: netfathom {command} --to {}; Ctrl-C ends",
            reachable(*at)
        ),
        ServeEvent::Begins { peer } => format!("{peer}: begins"),
        ServeEvent::Ended { peer, trials } => format!("{peer}: ended after {}", counted(*trials, "trial")),
        ServeEvent::Lost { peer, trials, why } => {
            format!("{peer}: after {}: {why}", counted(*trials, "trial"))
        }
    }
}
