//! Why a cost could not be measured: what was tried, why it failed, what to do.

use std::fmt::Display;
use std::io;

use netfathom_sys::counters::CountersError;

use crate::ground::error::{Failure, GroundError, Mistake};

#[derive(Debug, thiserror::Error)]
pub enum CostError {
    #[error(transparent)]
    Ground(#[from] GroundError),
    #[error("cannot start {what} `{program}`: {source}{remedy}", remedy = start_remedy(.source))]
    Start {
        /// Its role, such as `COMMAND`.
        what: &'static str,
        program: String,
        source: io::Error,
    },
    #[error("{what} `{program}` ended at once ({status}){detail}{remedy}")]
    EndedAtOnce { what: &'static str, program: String, status: String, detail: String, remedy: &'static str },
    #[error(
        "{what} cannot be ended: process {pid} is still there {after} s after SIGKILL; is its device stuck? (ps -o stat,wchan {pid})"
    )]
    Stuck {
        what: &'static str,
        pid: u32,
        /// How long it was waited for, in seconds.
        after: u64,
    },
    #[error(
        "{what} cannot be ended: process {pid} belongs to another user, whom it was set to; end it by hand (sudo kill {pid}), \
         or run netfathom as root"
    )]
    Foreign { what: &'static str, pid: u32 },
    /// A process that cannot be chosen.
    #[error("--pid {pid}: {why}")]
    Unfit { pid: u32, why: &'static str },
    #[error("--phases {name}: there is none of that name; choose from {known}")]
    UnknownPhase { name: String, known: String },
    #[error("--pid {pid}: {why}")]
    Process { pid: u32, why: String },
    #[error("`{command}` failed ({status}){detail}; it has to end with status 0")]
    Toggle { command: String, status: String, detail: String },
    #[error("cannot make the load: {0}")]
    Load(io::Error),
    #[error("cannot count what the load sent: {0}")]
    Counters(#[from] CountersError),
    #[error("{0}")]
    Benchmark(String),
    #[error("cannot {step}: {source}")]
    Step { step: &'static str, source: io::Error },
}

impl CostError {
    pub fn benchmark(why: impl Display) -> Self {
        Self::Benchmark(why.to_string())
    }
}

impl Failure for CostError {
    fn mistake(&self) -> Option<Mistake> {
        match self {
            Self::Ground(ground) => ground.mistake(),
            Self::Unfit { .. } | Self::UnknownPhase { .. } => Some(Mistake::Named),
            _ => None,
        }
    }
}

fn start_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; is it installed, and in PATH?",
        io::ErrorKind::PermissionDenied => "; is it executable (chmod +x)?",
        _ => "",
    }
}

pub fn step(step: &'static str) -> impl Fn(io::Error) -> CostError {
    move |source| CostError::Step { step, source }
}
