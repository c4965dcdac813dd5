//! Writing to standard output, where a reader that has had enough is no error, and errors.

mod harmless;

use std::io::{self, IsTerminal, Write};

use anyhow::{Context, Error, Result};
use netfathom_sys::limits;

pub use harmless::{harmless, spared};

/// Writes a text and ends the line if it does not.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    let line_end = if text.ends_with('\n') { "" } else { "\n" };
    let written = out.write_all(text.as_bytes()).and_then(|()| out.write_all(line_end.as_bytes()));
    match written.and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("cannot write to standard output"),
    }
}

/// Says on standard error what went wrong.
pub fn complain(error: &Error) {
    // Not by eprintln, which panics where nobody can be told, such as on a full disk.
    let _ = writeln!(io::stderr(), "netfathom: {}", harmless(&limits::explained(chain(error))));
}

/// A plan, or `None` after saying what is wrong with it: wrong usage.
pub fn understood<P>(plan: Result<P>) -> Option<P> {
    plan.inspect_err(complain).ok()
}

/// An error and its causes, without those that it has already named itself.
fn chain(error: &Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |told, cause| {
        if told.is_empty() {
            cause
        } else if told.contains(&cause) {
            told
        } else {
            format!("{told}: {cause}")
        }
    })
}

/// Columns to draw tables for.
pub fn width() -> usize {
    terminal_size::terminal_size().map_or(80, |(columns, _)| columns.0.into())
}

/// Whether standard output shows colours (https://no-color.org).
pub fn color() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let full = || io::Error::from_raw_os_error(28);
        let told = full().to_string();
        let error = Error::new(full()).context(format!("cannot write x: {told}; free some space"));
        assert_eq!(chain(&error), format!("cannot write x: {told}; free some space"));
        assert_eq!(chain(&Error::new(full()).context("cannot write x")), format!("cannot write x: {told}"));
    }
}
