//! Commands that start other programs run in a process that another one watches over: see [`Ward`].

use std::os::unix::process::{CommandExt, ExitStatusExt, parent_id};
use std::process::{Command, ExitCode, ExitStatus};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use netfathom_measure::kind::cost::guard::{Ward, ended_cleanly};
use netfathom_sys::{limits, memory};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::{exit, stop};

const WATCHED_BY: &str = "NETFATHOM_WATCHED_BY";
/// The exit status of who is watched over and had no memory left to put anything back (EX_OSERR of sysexits.h).
const OUT_OF_MEMORY: i32 = 71;
/// The shell's status of a program that ended by a signal is this and its number.
const BY_SIGNAL: u8 = 128;

/// Runs this program once more and waits for it: its exit status. `None` in the one that is watched over. Unless
/// that one ends cleanly, what it started is ended, within `grace` by itself and then by force, and what `before` gave,
/// asked before it began with the command that starts it, undoes what it did to others.
pub fn watch_over<R: FnOnce()>(
    grace: Duration,
    before: impl FnOnce(&mut Command) -> R,
) -> Result<Option<ExitCode>> {
    if std::env::var(WATCHED_BY).is_ok_and(|by| by == parent_id().to_string()) {
        memory::exit_with(OUT_OF_MEMORY);
        return Ok(None);
    }
    limits::check()?;
    let asked = [SIGINT, SIGTERM].into_iter().chain(stop::hangup());
    let mut signals = Signals::new(asked).context("cannot listen for signals")?;
    let own = std::env::current_exe().context("cannot find out which program this is")?;
    let mut again = Command::new(own);
    again.args(std::env::args_os().skip(1)).env(WATCHED_BY, std::process::id().to_string());
    // By its usual name, in messages too.
    again.arg0(std::env::args_os().next().unwrap_or_default());
    let restore = before(&mut again);
    let ward = Ward::start(again).context("cannot start netfathom once more")?.with_grace(grace);
    let (handle, pass_on) = (signals.handle(), ward.signals());
    let passing = thread::Builder::new().name("signals".into());
    passing
        .spawn(move || signals.forever().for_each(pass_on))
        .context("cannot start a thread for signals")?;
    let status = ward.wait().context("cannot wait for netfathom")?;
    if !ended_cleanly(status) {
        restore();
    }
    handle.close();
    Ok(Some(exit_code(status)))
}

fn exit_code(status: ExitStatus) -> ExitCode {
    match status.code() {
        Some(OUT_OF_MEMORY) => exit::FAILED.into(),
        Some(code) => (code as u8).into(),
        None => BY_SIGNAL.saturating_add(status.signal().unwrap_or(0) as u8).into(),
    }
}
