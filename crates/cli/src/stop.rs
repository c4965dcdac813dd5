//! Ctrl-C: the first ends the run after what it has, the second at once.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{io, thread};

use netfathom_measure::ground::lab::setup;
use netfathom_sys::process::{self, SIGKILL};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};

/// The shell's status of a program that ended by SIGINT.
pub const BY_SIGNAL: u8 = 130;
/// Signals so close together are one wish: timeout(1) signals its child and then the whole
/// group, so that its child gets two.
const ONE_WISH: Duration = Duration::from_millis(100);

/// A flag that the signals set which ask a program to end.
pub fn on_signals() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut signals = Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup()))?;
    let asked = Arc::clone(&stop);
    thread::Builder::new().name("signals".into()).spawn(move || {
        let mut first = None;
        for signal in signals.forever() {
            asked.store(true, Relaxed);
            setup::signal(signal);
            // The kernel and the shell each report the end of a terminal, not always at the same time.
            let is_repeated = first.get_or_insert_with(Instant::now).elapsed() > ONE_WISH;
            if is_repeated && signal != SIGHUP {
                setup::signal(SIGKILL);
                crate::watch::live::restore();
                low_level::exit(BY_SIGNAL.into());
            }
        }
    })?;
    Ok(stop)
}

/// The same for a program that hands them on and ends by itself: none of them ends it at once.
pub fn noted() -> io::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup()) {
        flag::register(signal, Arc::clone(&asked))?;
    }
    Ok(asked)
}

/// A flag that SIGUSR1 sets: what there is so far is to be written.
pub fn on_request() -> io::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    flag::register(SIGUSR1, Arc::clone(&asked))?;
    Ok(asked)
}

/// A file beyond `ulimit -f` is an error from now on, which can be reported, and no longer the end.
pub fn report_file_limits() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// The end of the terminal, unless nohup(1) has made it of no account.
pub fn hangup() -> Option<c_int> {
    (!process::ignores(std::process::id(), SIGHUP)).then_some(SIGHUP)
}
