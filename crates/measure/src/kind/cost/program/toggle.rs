//! Something that one command starts and another stops, such as a service.

use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use netfathom_model::plan::CostLevel;
use netfathom_model::record::ProgramTrial;
use netfathom_sys::child::without_priority;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::process::{Process, SIGKILL, Waited};

use super::family::{Starting, fresh_word};
use super::output::Output;
use super::pause::Pause;
use super::{Ran, Switch};
use crate::kind::cost::error::{CostError, step};

/// There where systemd runs the machine (sd_booted(3)).
const SYSTEMD: &str = "/run/systemd/system";

/// A command that takes longer hangs: systemd gives a service 90 s.
const LONGEST: Duration = Duration::from_secs(180);

pub struct Toggle<'a> {
    start: String,
    stop: String,
    settle: Pause<'a>,
    /// Whether it was there before the run: then it is there after it.
    was_on: bool,
    is_on: bool,
    since_ns: u64,
}

impl<'a> Toggle<'a> {
    /// Of two commands for the shell. It is taken for off, and left so.
    pub fn new(start: &str, stop: &str, settle: Pause<'a>) -> Self {
        Self { start: start.into(), stop: stop.into(), settle, was_on: false, is_on: false, since_ns: 0 }
    }

    /// A service: it is left as it was.
    pub fn service(name: &str, settle: Pause<'a>) -> Result<Self, CostError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@:\\".contains(c);
        if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
            return Err(CostError::Benchmark(format!("--service {name}: that is no name of a service")));
        }
        let systemd = Path::new(SYSTEMD).exists();
        let of = |verb: &str| match systemd {
            true => format!("systemctl {verb} '{name}'"),
            false => format!("service '{name}' {verb}"),
        };
        let (status, _) = shell(&of(if systemd { "is-active --quiet" } else { "status" }))?;
        let on = status.success();
        let mut service = Self::new(&of("start"), &of("stop"), settle);
        (service.was_on, service.is_on) = (on, on);
        Ok(service)
    }

    /// Stops it, if it is there.
    pub fn clear(&mut self) -> Result<(), CostError> {
        if self.is_on { self.end() } else { Ok(()) }
    }

    /// Has it as it was when this was made, whatever it is now.
    pub fn put_back(&mut self) -> Result<(), CostError> {
        if self.was_on { self.begin() } else { self.end() }
    }

    /// Starts it, whether it is there or not.
    fn begin(&mut self) -> Result<(), CostError> {
        run(&self.start)?;
        self.is_on = true;
        Ok(())
    }

    fn end(&mut self) -> Result<(), CostError> {
        run(&self.stop)?;
        self.is_on = false;
        Ok(())
    }
}

/// Runs a command to its end. Returns its status, and its last line of output.
fn shell(command: &str) -> Result<(ExitStatus, String), CostError> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    without_priority(&mut shell);
    let start = |source| CostError::Start { what: "the command", program: command.into(), source };
    // While this exists, no other thread reaps processes that are not its children.
    let starting = Starting::now();
    let mut child = shell.spawn().map_err(start)?;
    let _family = starting.family("the command", fresh_word(), child.id(), false);
    let output = Output::default();
    if let Some(error) = child.stderr.take() {
        // What it starts in the background may keep its standard error for ever: only its own end is waited for.
        output.read(error).map_err(step("start a thread that reads what a command writes"))?;
    }
    let process = Process::open(child.id()).map_err(step("watch a command"))?;
    let waited = process.wait(LONGEST, &AtomicBool::new(false)).map_err(step("wait for a command"))?;
    if waited != Waited::Ended {
        process.signal(SIGKILL).map_err(step("end a command"))?;
    }
    let status = child.wait().map_err(step("wait for a command"))?;
    let detail = if waited == Waited::Ended {
        output.last_line()
    } else {
        format!(": it had not ended after {} s", LONGEST.as_secs())
    };
    Ok((status, detail))
}

fn run(command: &str) -> Result<(), CostError> {
    match shell(command)? {
        (status, _) if status.success() => Ok(()),
        (status, detail) => {
            Err(CostError::Toggle { command: command.into(), status: status.to_string(), detail })
        }
    }
}

impl Switch for Toggle<'_> {
    fn on(&mut self, _: Option<&CostLevel>) -> Result<(), CostError> {
        self.begin()?;
        self.since_ns = monotonic_ns();
        self.settle.make();
        Ok(())
    }

    fn off(&mut self, _: (u64, u64)) -> Result<Ran, CostError> {
        self.end()?;
        let wall_ns = monotonic_ns() - self.since_ns;
        Ok(Ran::throughout(ProgramTrial { wall_ns, starts: 1, ..ProgramTrial::default() }))
    }

    fn restore(&mut self) -> Result<(), CostError> {
        if self.was_on == self.is_on { Ok(()) } else { self.put_back() }
    }
}

impl Drop for Toggle<'_> {
    fn drop(&mut self) {
        let _ = self.restore();
    }
}
