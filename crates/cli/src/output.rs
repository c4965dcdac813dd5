//! Writing to standard output, where a reader that has had enough is no error, and errors.

mod harmless;

use std::error;
use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::{Context, Error, Result};
use netfathom_results::draw;
use netfathom_results::page::Page;
use netfathom_sys::limits;

use crate::exit;

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

/// The whole output of a command that succeeds.
pub fn answer(text: &str) -> Result<ExitCode> {
    print(text).map(|()| ExitCode::SUCCESS)
}

/// What the parser of arguments has to say instead of a command: help and the version, on standard output as a
/// command's own output is; or what is wrong with the arguments.
pub fn of_parser(error: &clap::Error) -> Result<ExitCode> {
    let text = error.render();
    if error.use_stderr() {
        let shown = if colored(&io::stderr()) { text.ansi().to_string() } else { text.to_string() };
        let _ = io::stderr().write_all(shown.as_bytes());
    } else {
        print(&if color() { text.ansi().to_string() } else { text.to_string() })?;
    }
    Ok(u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from))
}

pub fn complain(error: &Error) {
    aside(&format!("netfathom: {}", limits::explained(chain(error))));
}

/// Reports wrong usage in the form of the parser of arguments.
pub fn wrong_usage(error: &Error) -> ExitCode {
    aside(&format!("error: {}\n\nFor more information, try '--help'.", limits::explained(chain(error))));
    exit::USAGE.into()
}

/// Wrong usage that the parser of arguments does not know of.
#[derive(Debug)]
pub struct Misused(Error);

impl Display for Misused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl error::Error for Misused {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.0.source()
    }
}

pub fn misused(why: impl Display) -> Result<ExitCode> {
    understood(Err(Error::msg(why.to_string())))
}

/// Text on standard error.
pub fn aside(text: &str) {
    let (text, is_read) = (harmless(text), io::stderr().is_terminal());
    let shown = if is_read { wrapped(&text, width()) } else { text };
    // Not by eprintln, which panics where it cannot write, such as on a full disk.
    let _ = writeln!(io::stderr(), "{shown}");
}

/// Lines that a terminal would break within words; those that are indented, such as a command to copy, stay whole.
fn wrapped(text: &str, width: usize) -> String {
    let options = draw::wrapping(width).break_words(false);
    let line = |line: &str| match line.starts_with(' ') {
        true => line.to_owned(),
        false => textwrap::wrap(line, &options).join("\n"),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// A plan; what is wrong with it is wrong usage.
pub fn understood<P>(plan: Result<P, impl Into<Error>>) -> Result<P> {
    plan.map_err(|error| Misused(error.into()).into())
}

/// An error and its causes, without those that it has already named itself.
fn chain(error: &Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| {
        if text.is_empty() {
            cause
        } else if text.contains(&cause) {
            text
        } else {
            format!("{text}: {cause}")
        }
    })
}

/// Writes a page: the short view, or with `verbose` the whole. A script that reads the short view has all of its lines.
pub fn page(page: &Page, verbose: bool) -> Result<()> {
    let (width, color) = (width(), color());
    print(&match (verbose, io::stdout().is_terminal()) {
        (true, _) => draw::terminal(page, width, color),
        (false, true) => draw::short(page, width, color),
        (false, false) => draw::terminal(&page.short(), width, color),
    })
}

/// Writes the short view of a page on standard error, where standard output is for data.
pub fn page_aside(page: &Page) {
    let text = draw::short(page, width(), colored(&io::stderr()));
    let _ = io::stderr().write_all(text.as_bytes());
}

pub fn width() -> usize {
    terminal_size::terminal_size().map_or(80, |(columns, _)| columns.0.into())
}

/// Whether standard output shows colors (https://no-color.org).
pub fn color() -> bool {
    colored(&io::stdout())
}

fn colored(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_copied_stays_whole() {
        let text = "a sentence of words\n    netfathom agent --name NAME";
        assert_eq!(wrapped(text, 12), "a sentence\nof words\n    netfathom agent --name NAME");
    }

    #[test]
    fn a_cause_stands_once() {
        let full = || io::Error::from_raw_os_error(28);
        let text = full().to_string();
        let error = Error::new(full()).context(format!("cannot write x: {text}; free some space"));
        assert_eq!(chain(&error), format!("cannot write x: {text}; free some space"));
        assert_eq!(chain(&Error::new(full()).context("cannot write x")), format!("cannot write x: {text}"));
    }
}
