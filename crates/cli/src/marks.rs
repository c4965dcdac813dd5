//! `netfathom marks`: what a program marks, as it comes, and a table of it at the end.

use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use netfathom_mark::listen::{Listener, Mark};

use crate::args::MarksArgs;
use crate::stop;

mod lines;
mod name;
mod program;
mod seen_marks;

use lines::Form;
pub use name::process;
use program::Program;
use seen_marks::Seen;

/// Between two looks: a ring of 65,536 marks is full after this time only at 13 million a second.
const LOOK: Duration = Duration::from_millis(5);

pub fn run(args: &MarksArgs) -> Result<ExitCode> {
    let stop = stop::on_signals().context("cannot listen for signals")?;
    let (listener, program) = match &args.whom {
        Some(whom) => (Listener::of_process(process(whom)?)?, None),
        None => {
            let listener = Listener::create()?;
            let program = Program::start(&args.command, &listener)?;
            (listener, Some(program))
        }
    };
    let form = if args.json { Form::Json } else { Form::Text };
    let mut out = Out { to: BufWriter::new(io::stdout().lock()), has_reader: true };
    let watched = MarkDisplay { listener, program, seen: Seen::default() };
    watched.until_the_end(form, args.quiet, &stop, &mut out)?;
    Ok(ExitCode::SUCCESS)
}

/// Standard output, where a reader that has had enough ends the watching.
struct Out<'a> {
    to: BufWriter<StdoutLock<'a>>,
    has_reader: bool,
}

impl Out<'_> {
    fn line(&mut self, line: &str) -> Result<()> {
        let written = writeln!(self.to, "{line}");
        self.noted(written)
    }

    fn flush(&mut self) -> Result<()> {
        let flushed = self.to.flush();
        self.noted(flushed)
    }

    fn noted(&mut self, outcome: io::Result<()>) -> Result<()> {
        match outcome {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => self.has_reader = false,
            outcome => outcome.context("cannot write to standard output")?,
        }
        Ok(())
    }
}

struct MarkDisplay {
    listener: Listener,
    /// If this command has started one.
    program: Option<Program>,
    seen: Seen,
}

impl MarkDisplay {
    fn until_the_end(mut self, form: Form, quiet: bool, stop: &AtomicBool, out: &mut Out<'_>) -> Result<()> {
        if !quiet {
            form.header().map_or(Ok(()), |line| out.line(&line))?;
        }
        out.flush()?;
        let mut marks = Vec::new();
        loop {
            // Before looking, so that the last look comes after the end.
            let over = self.is_over(stop.load(Relaxed) || !out.has_reader)?;
            if over {
                self.listener.drain_rest(&mut marks)
            } else {
                self.listener.drain(&mut marks)
            };
            for mark in marks.drain(..) {
                self.tell(&mark, form, quiet, out)?;
            }
            out.flush()?;
            if over {
                break;
            }
            thread::sleep(LOOK);
        }
        if !quiet {
            form.gap().map_or(Ok(()), |line| out.line(&line))?;
        }
        let ended = self.program.as_ref().and_then(Program::ended);
        let lost = [self.listener.lost(), self.listener.damaged()];
        form.summary(&self.seen, lost, ended.as_deref()).iter().try_for_each(|line| out.line(line))?;
        out.flush()
    }

    /// Whether no more marks will be shown. A program that was started is asked to end first.
    fn is_over(&mut self, asked: bool) -> Result<bool> {
        match &mut self.program {
            Some(program) => program.is_over(asked),
            None => Ok(asked || self.listener.ended()),
        }
    }

    fn tell(&mut self, mark: &Mark, form: Form, quiet: bool, out: &mut Out<'_>) -> Result<()> {
        let times = self.seen.add(mark);
        if quiet { Ok(()) } else { out.line(&form.mark(mark, times)) }
    }
}
