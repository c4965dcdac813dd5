//! Two processes that look after each other, so that `kill -9` of either leaves nothing behind.
//!
//! The one that was started runs itself once more and waits. It adopts what the other one leaves behind when it
//! is killed, and ends it. If it is killed itself, the kernel tells the other one to end.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt, parent_id};
use std::process::{Command, ExitCode, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use netfathom_sys::child::asked_to_end_with_this_thread;
use netfathom_sys::process::{self, Process, SIGCONT, SIGKILL};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Set for the one that is watched over.
const WATCHED: &str = "NETFATHOM_WATCHED";
/// The shell's status of a program that ended by a signal is this and its number.
const BY_SIGNAL: u8 = 128;
/// What is killed is gone after this time, unless a device holds it.
const LONGEST: Duration = Duration::from_secs(5);

/// Runs this program once more and waits for it: its exit status. `None` in the one that is watched over. If that one
/// is killed, what it started is ended, and `restore` undoes what it did to others.
///
/// # Errors
/// If the program cannot be started again.
pub fn watch_over(restore: impl FnOnce()) -> Result<Option<ExitCode>> {
    if std::env::var_os(WATCHED).is_some_and(|parent| parent == parent_id().to_string().as_str())
    {
        return Ok(None);
    }
    // Without it all goes on as it would, but for a kill -9.
    let _ = process::adopt_orphans(true);
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot listen for signals")?;
    let own = std::env::current_exe().context("cannot find out which program this is")?;
    let mut again = Command::new(own);
    again.args(std::env::args_os().skip(1)).env(WATCHED, std::process::id().to_string());
    // By its usual name, in messages too.
    again.arg0(std::env::args_os().next().unwrap_or_default());
    asked_to_end_with_this_thread(&mut again);
    let mut child = again.spawn().context("cannot start netfathom once more")?;
    let process = Process::open(child.id()).context("cannot watch over netfathom")?;
    let handle = signals.handle();
    thread::spawn(move || {
        for signal in signals.forever() {
            let _ = process.signal(signal);
        }
    });
    let status = child.wait().context("cannot wait for netfathom")?;
    handle.close();
    if status.signal().is_some() {
        end_what_is_left();
        restore();
    }
    Ok(Some(exit_code(status)))
}

fn end_what_is_left() {
    let deadline = Instant::now() + LONGEST;
    let living = || -> io::Result<Vec<u32>> {
        let all = process::descendants(std::process::id())?;
        Ok(all.into_iter().filter(|&pid| process::lives(pid)).collect())
    };
    while let Ok(left) = living()
        && !left.is_empty()
        && Instant::now() < deadline
    {
        for process in left.into_iter().filter_map(|pid| Process::open(pid).ok()) {
            let _ = process.signal(SIGKILL);
            let _ = process.signal(SIGCONT);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn exit_code(status: ExitStatus) -> ExitCode {
    let by_signal = || BY_SIGNAL.saturating_add(status.signal().unwrap_or(0) as u8);
    status.code().map_or_else(by_signal, |code| code as u8).into()
}
