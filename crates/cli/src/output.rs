//! Writing to standard output: a reader that has had enough is no error.

use std::io::{self, IsTerminal, Write};

/// Writes a text and ends the line if it does not.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let line_end = if text.ends_with('\n') { "" } else { "\n" };
    let written = out.write_all(text.as_bytes()).and_then(|()| out.write_all(line_end.as_bytes()));
    match written.and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

/// Columns to draw tables for.
pub fn width() -> usize {
    terminal_size::terminal_size().map_or(80, |(columns, _)| columns.0.into())
}

/// Whether standard output shows colours (https://no-color.org).
pub fn color() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}
