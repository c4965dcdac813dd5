//! Ctrl-C: the first ends the run after what it has, the second at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// The shell's status of a program that ended by SIGINT.
const BY_SIGNAL: i32 = 130;

/// A flag that the signals set which ask a program to end.
pub fn on_signals() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the second signal finds the flag set and exits.
        flag::register_conditional_shutdown(signal, BY_SIGNAL, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
