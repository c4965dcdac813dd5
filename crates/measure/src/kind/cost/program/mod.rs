//! The program under test: switched on before a trial and off after it, whatever it is.

mod command;
mod family;
mod output;
mod pause;
mod process;
mod supervisor;
mod toggle;

use std::sync::Arc;
use std::time::Duration;

use netfathom_model::plan::{CostLevel, CostPlan, Subject, WhenEnded};
use netfathom_model::record::ProgramTrial;
use netfathom_sys::netns::Namespace;

pub use command::Command;
pub use family::{Family, Starting, fresh_word};
pub use output::Output;

use super::error::CostError;
pub use pause::Pause;
use process::Stopped;
use toggle::Toggle;

#[derive(Clone, Debug)]
pub struct Context {
    /// The network namespace; `None` for that of this process.
    pub namespace: Option<Arc<Namespace>>,
    /// Processors; all if empty.
    pub cpus: Vec<usize>,
    pub grace: Duration,
    /// What it means if it ends by itself.
    pub when_ended: WhenEnded,
    pub terminal: bool,
    /// Whether processes of unknown origin belong to it.
    pub strangers: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    pub used: ProgramTrial,
    /// Why the trial does not count, where it does not.
    pub trouble: Option<String>,
}

impl Ran {
    /// Of what was there all the time.
    fn throughout(used: ProgramTrial) -> Self {
        Self { used: ProgramTrial { present: 1.0, ..used }, trouble: None }
    }
}

/// Something that can be there or not.
pub trait Switch {
    fn on(&mut self, level: Option<&CostLevel>) -> Result<(), CostError>;

    /// The benchmark begins: what it uses counts from now on.
    fn begins(&mut self) -> Result<(), CostError> {
        Ok(())
    }

    /// Has it gone. Of a time, CLOCK_MONOTONIC from and to, it says how much of it the program was there.
    fn off(&mut self, during: (u64, u64)) -> Result<Ran, CostError>;

    /// Puts everything as it was before the run.
    fn restore(&mut self) -> Result<(), CostError> {
        Ok(())
    }
}

impl Context {
    /// The context of a load: the user's choices for the program under test do not apply to it.
    pub fn of_load(&self) -> Self {
        Self {
            cpus: Vec::new(),
            when_ended: WhenEnded::Trouble,
            terminal: false,
            strangers: false,
            ..self.clone()
        }
    }

    pub fn of(plan: &CostPlan) -> Self {
        Self {
            namespace: None,
            cpus: plan.program_cpu.clone(),
            grace: Duration::from_nanos(plan.grace_ns),
            when_ended: plan.when_ended,
            terminal: plan.terminal,
            strangers: true,
        }
    }
}

pub fn switch_of<'a>(
    plan: &CostPlan,
    context: &Context,
    settle: Pause<'a>,
) -> Result<Box<dyn Switch + 'a>, CostError> {
    Ok(match &plan.subject {
        Subject::Nothing | Subject::Interception { .. } => Box::new(Nothing),
        Subject::Command { argv } => Box::new(Command::new("COMMAND", argv.clone(), context.clone(), settle)),
        Subject::Process { pid } => Box::new(Stopped::new(*pid, settle)?),
        Subject::Service { name } => {
            let mut service = Toggle::service(name, settle)?;
            service.clear()?;
            Box::new(service)
        }
        Subject::Toggle { start, stop } => Box::new(Toggle::new(start, stop, settle)),
    })
}

/// How the program was found before a run, for who puts it back if the run cannot.
pub enum StateBefore {
    Process(u32),
    /// It is there or not.
    Toggle(Toggle<'static>),
    Ours,
}

impl StateBefore {
    /// Looks, and changes nothing.
    pub fn of(subject: &Subject) -> Result<Self, CostError> {
        Ok(match subject {
            Subject::Process { pid } => Self::Process(*pid),
            Subject::Toggle { start, stop } => Self::Toggle(Toggle::new(start, stop, Pause::none())),
            Subject::Service { name } => Self::Toggle(Toggle::service(name, Pause::none())?),
            Subject::Nothing | Subject::Command { .. } | Subject::Interception { .. } => Self::Ours,
        })
    }

    /// Puts it back, whatever it is now.
    pub fn restore(self) -> Result<(), CostError> {
        match self {
            Self::Process(pid) => process::go_on(pid),
            Self::Toggle(mut toggle) => toggle.put_back(),
            Self::Ours => Ok(()),
        }
    }
}

/// The program of an A/A run: nothing is there or not.
struct Nothing;

impl Switch for Nothing {
    fn on(&mut self, _: Option<&CostLevel>) -> Result<(), CostError> {
        Ok(())
    }

    fn off(&mut self, (from_ns, to_ns): (u64, u64)) -> Result<Ran, CostError> {
        let wall_ns = to_ns.saturating_sub(from_ns);
        Ok(Ran::throughout(ProgramTrial { wall_ns, cpu_ns: Some(0), ..ProgramTrial::default() }))
    }
}
