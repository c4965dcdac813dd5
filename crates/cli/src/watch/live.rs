//! The run on the terminal while it goes on: a thread that draws and reads keys.

use std::io::{self, IsTerminal};
use std::mem::{self, ManuallyDrop};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use netfathom_model::plan::WatchPlan;
use netfathom_sys::{capability, stdio};
use ratatui::DefaultTerminal;
use ratatui::crossterm::{cursor, execute};

use super::second::Second;
use crate::output;

mod draw;
mod keys;
mod spark;
mod state;
#[cfg(test)]
mod tests;

use state::State;

/// How long a new second, or the end, may wait to be seen.
const LOOK: Duration = Duration::from_millis(100);

/// Whether the terminal shows it now.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back as it was, if it shows a run.
pub fn restore() {
    if IS_SHOWN.swap(false, Relaxed) {
        // One that is gone needs nothing back.
        let _ = execute!(io::stdout(), cursor::Show);
        let _ = ratatui::try_restore();
    }
}

/// Whether there is a terminal to show it, of a size that is known, and one to read keys from.
pub fn is_possible() -> bool {
    let has_room = || terminal_size::terminal_size().is_some_and(|(width, _)| width.0 > 0);
    let has_keys = || io::stdin().is_terminal() && !stdio::is_in_background();
    io::stdout().is_terminal() && has_keys() && has_room()
}

/// Shown until it is dropped.
pub struct Live {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    is_new: AtomicBool,
    has_ended: AtomicBool,
}

impl Live {
    /// Takes the terminal. A key that ends the run sets `stop`, and so does the end of the terminal.
    ///
    /// # Errors
    /// If the terminal refuses.
    pub fn start(plan: &WatchPlan, stop: &Arc<AtomicBool>) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State::new(&plan.directions, &plan.target)),
            is_new: AtomicBool::new(true),
            has_ended: AtomicBool::new(false),
        });
        // Before, as only a part of it may succeed. It has a hook of panics, which gives the terminal back first.
        IS_SHOWN.store(true, Relaxed);
        let terminal = ratatui::try_init().inspect_err(|_| restore())?;
        let (seen, stop) = (Arc::clone(&shared), Arc::clone(stop));
        let show = move || {
            // The terminal is open; where they stay, it is shown all the same.
            let _ = capability::drop_all();
            // Dropped, it would panic where it cannot write.
            let _ = seen.show(&mut ManuallyDrop::new(terminal));
            if !seen.has_ended.load(Relaxed) {
                stop.store(true, Relaxed);
            }
            restore();
        };
        let thread =
            thread::Builder::new().name("live view".into()).spawn(show).inspect_err(|_| restore())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    pub fn add(&self, second: Second, answer: String) {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).add(second, answer);
        self.shared.is_new.store(true, Relaxed);
    }
}

impl Shared {
    /// Until the run has ended, a key ends it, or the terminal is gone.
    fn show(&self, terminal: &mut DefaultTerminal) -> io::Result<()> {
        let (colors, mut size, mut sent) = (output::color(), None, [0; 256]);
        while !self.has_ended.load(Relaxed) {
            let size_before = mem::replace(&mut size, terminal_size::terminal_size());
            if self.is_new.swap(false, Relaxed) || size != size_before {
                let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                terminal.draw(|frame| draw::draw(frame, &state, colors))?;
            }
            let read = stdio::read_within(LOOK, &mut sent)?;
            if !self.press(&sent[..read]) {
                break;
            }
        }
        Ok(())
    }

    /// False if a key ends the run.
    fn press(&self, sent: &[u8]) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_new.fetch_or(!sent.is_empty(), Relaxed);
        keys::keys(sent).into_iter().all(|key| state.key(key))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // One that panicked has given the terminal back.
            let _ = thread.join();
        }
        restore();
    }
}
