//! A program that is started to be listened to.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use netfathom_mark::listen::Listener;
use netfathom_sys::child;

/// Ctrl-C on a terminal reaches the program too: asked once more only if it goes on for so long.
const OF_ITSELF: Duration = Duration::from_millis(500);

/// A program, ended with this one.
pub struct Program {
    name: String,
    child: Child,
    /// Since when it is to end, and whether it has been asked.
    asked: Option<(Instant, bool)>,
    status: Option<ExitStatus>,
}

impl Program {
    /// Starts it, so that its marks come to the listener. What it prints goes to standard error:
    /// standard output is for its marks.
    pub fn start(words: &[OsString], listener: &Listener) -> Result<Self> {
        let name = words[0].to_string_lossy().into_owned();
        let mut command = Command::new(&words[0]);
        let standard_error =
            io::stderr().as_fd().try_clone_to_owned().context("cannot share standard error")?;
        command.args(&words[1..]).stdout(standard_error);
        child::end_with_this_thread(&mut command);
        let child = listener.attach(&mut command).spawn();
        let child =
            child.with_context(|| format!("cannot start `{name}`; is it there, and may it be executed?"))?;
        Ok(Self { name, child, asked: None, status: None })
    }

    /// Whether it has ended; if not, and `ask`, it is asked to (SIGINT).
    pub fn is_over(&mut self, ask: bool) -> Result<bool> {
        if self.status.is_none() {
            self.status =
                self.child.try_wait().with_context(|| format!("cannot wait for `{}`", self.name))?;
        }
        if self.status.is_none() && ask {
            let (since, shown) = *self.asked.get_or_insert((Instant::now(), false));
            if !shown && since.elapsed() > OF_ITSELF {
                self.asked = Some((since, true));
                // It may have ended just now.
                let _ = child::interrupt(&mut self.child);
            }
        }
        Ok(self.status.is_some())
    }

    pub fn ended(&self) -> Option<String> {
        let status = self.status?;
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit status {code}"),
            (None, signal) => format!("signal {}", signal.unwrap_or(0)),
        };
        Some(format!("{} ended with {how}", self.name))
    }
}
