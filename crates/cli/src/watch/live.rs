//! The run on the terminal while it goes on: a thread that draws and reads keys, and never waits for the terminal to take
//! a frame.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{env, mem, panic};

use netfathom_model::plan::WatchPlan;
use netfathom_sys::{capability, stdio};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::style::ResetColor;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, queue};

use super::second::Second;
use crate::output;

mod draw;
mod keys;
mod spark;
mod state;
#[cfg(test)]
mod tests;
mod writer;

use state::State;
use writer::Writer;

/// How long a new second, or the end, may wait to be seen.
const LOOK: Duration = Duration::from_millis(100);

/// The terminal that shows it now.
static SHOWN: Mutex<Option<File>> = Mutex::new(None);

fn shown() -> MutexGuard<'static, Option<File>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Done before anything that may fail and gives the terminal back: to leave a screen that was not entered moves the cursor.
fn enter(mut writer: &Writer, back: File) -> io::Result<()> {
    let mut shown = shown();
    enable_raw_mode()?;
    *shown = Some(back);
    queue!(writer, EnterAlternateScreen)?;
    writer.send().map(drop)
}

/// Gives the terminal back as it was, if it shows a run.
pub fn restore() {
    let Some(mut terminal) = shown().take() else { return };
    // One that is gone needs nothing back.
    let _ = disable_raw_mode();
    let mut back = Vec::new();
    let _ = queue!(back, ResetColor, LeaveAlternateScreen, cursor::Show);
    if terminal.write_all(&back).is_err_and(|error| error.kind() == ErrorKind::WouldBlock) {
        // The end of a line would flush it: so it stays in the buffer until the tables follow.
        let _ = io::stdout().write_all(&back);
    }
}

fn restore_on_panic() {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        restore();
        hook(info);
    }));
}

/// Whether there is a terminal to show it, of a size that is known, and one to read keys from. A dumb one has no second screen.
pub fn is_possible() -> bool {
    let has_room = || terminal_size::terminal_size().is_some_and(|(width, _)| width.0 > 0);
    let has_keys = || io::stdin().is_terminal() && !stdio::is_in_background();
    let can_open = || stdio::nonblocking_terminal().is_ok();
    let has_screen = || env::var_os("TERM").is_none_or(|kind| kind != "dumb");
    io::stdout().is_terminal() && has_screen() && has_keys() && has_room() && can_open()
}

/// A second, and the answer so far.
type Seen = (Second, String);

/// Shown until it is dropped.
pub struct Live {
    /// Its end is that of the run.
    seconds: Option<Sender<Seen>>,
    thread: Option<JoinHandle<()>>,
}

impl Live {
    /// Takes the terminal. A key that ends the run sets `stop`, and so does the end of the terminal.
    ///
    /// # Errors
    /// If the terminal refuses.
    pub fn start(plan: &WatchPlan, stop: &Arc<AtomicBool>) -> io::Result<Self> {
        let terminal = stdio::nonblocking_terminal()?;
        let back = terminal.try_clone()?;
        let writer = Writer::new(terminal);
        enter(&writer, back).inspect_err(|_| restore())?;
        restore_on_panic();
        let (seconds, seen) = mpsc::channel();
        let (state, stop) = (State::new(&plan.directions, &plan.target), Arc::clone(stop));
        let view = move || {
            // The terminal is open; where they stay, it is shown all the same.
            let _ = capability::drop_all();
            let has_ended = show(&writer, state, &seen).unwrap_or(false);
            if !has_ended {
                stop.store(true, Relaxed);
            }
            restore();
        };
        let thread =
            thread::Builder::new().name("live view".into()).spawn(view).inspect_err(|_| restore())?;
        Ok(Self { seconds: Some(seconds), thread: Some(thread) })
    }

    pub fn add(&self, second: Second, answer: String) {
        if let Some(seconds) = &self.seconds {
            // Once the terminal is gone, there is no view to show it.
            let _ = seconds.send((second, answer));
        }
    }
}

/// True once the run has ended, false once a key ends it; an error if the terminal is gone.
fn show(writer: &Writer, mut state: State, seen: &Receiver<Seen>) -> io::Result<bool> {
    let mut terminal = Terminal::new(CrosstermBackend::new(writer))?;
    let (colors, mut is_new, mut size, mut sent) = (output::color(), true, None, [0; 256]);
    loop {
        match seen.try_recv() {
            Ok((second, answer)) => {
                state.add(second, answer);
                is_new = true;
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Ok(true),
        }
        let size_before = mem::replace(&mut size, terminal_size::terminal_size());
        is_new |= size != size_before;
        // No frame is made for a terminal that has not taken the one before.
        if writer.send()? && mem::take(&mut is_new) {
            // It fails only where the size is unknown: the frame is left out.
            let _ = terminal.draw(|frame| draw::draw(frame, &state, colors));
            writer.send()?;
        }
        let read = stdio::read_within(LOOK, &mut sent)?;
        is_new |= read > 0;
        if !keys::keys(&sent[..read]).into_iter().all(|key| state.key(key)) {
            return Ok(false);
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        drop(self.seconds.take());
        if let Some(thread) = self.thread.take() {
            // One that panicked has given the terminal back.
            let _ = thread.join();
        }
        restore();
    }
}
