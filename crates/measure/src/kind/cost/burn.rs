//! A burner of known intensity: it takes a share of a processor, of the memory's bandwidth or of
//! the way into the kernel, and never more than it was asked for. What `netfathom cost` says of it is
//! thereby known beforehand.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::cpu::{self, CpuError};

mod kind;
mod pace;

use super::light::memory::Stream;
use kind::BurnKind;
use pace::{Pace, Paced};

/// The largest share of a processor that is taken before all others: what is left keeps the
/// kernel's own threads alive.
pub const LARGEST_FIRST_SHARE: f64 = 0.9;

/// What is to be burnt; each in a thread of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BurnPlan {
    /// Share of one processor, above 0 up to 1.
    pub cpu_share: Option<f64>,
    /// Bytes of memory a second, each read and written; the processor time that it takes is its own.
    pub memory_bytes_per_s: Option<f64>,
    pub calls_per_s: Option<f64>,
    /// The processor to burn on; `None` leaves it to the scheduler.
    pub on: Option<usize>,
    /// As an ordinary thread, even if it could run before all others.
    pub ordinary: bool,
    /// How long; `None` until it is stopped.
    pub time_ns: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Burnt {
    pub wall_ns: u64,
    /// Processor time of the whole process meanwhile, waiting and counting included.
    pub cpu_ns: u64,
    /// The part of it that was burnt for the share that was asked for.
    pub share_ns: u64,
    /// Bytes of memory that were read and written.
    pub bytes: u64,
    /// System calls, those that waited included.
    pub calls: u64,
    /// Whether the share was taken before all others (SCHED_FIFO).
    pub first: bool,
    pub not_first: Option<String>,
    /// What fell behind what was asked for, in words.
    pub behind: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum BurnError {
    #[error("nothing to burn: ask for --cpu, --memory or --calls")]
    Nothing,
    #[error("cannot burn {0}")]
    Range(String),
    #[error("{0}; choose another with --on")]
    Cpu(#[from] CpuError),
    #[error("cannot start the burning thread: {0}; raise the limit of processes (ulimit -u)")]
    Thread(#[from] io::Error),
    #[error("a burning thread died: this is a bug in netfathom")]
    Died,
}

impl BurnPlan {
    fn kinds(&self) -> Result<Vec<BurnKind>, BurnError> {
        let cpu = self.cpu_share.map(|share| BurnKind::Cpu { share, first: self.may_go_first() });
        let memory = self.memory_bytes_per_s.map(|per_s| BurnKind::Memory { per_s, memory: Stream::new() });
        let calls = self.calls_per_s.map(|per_s| BurnKind::Calls { per_s });
        let kinds: Vec<BurnKind> = cpu.into_iter().chain(memory).chain(calls).collect();
        if kinds.is_empty() {
            return Err(BurnError::Nothing);
        }
        let wrong = kinds.iter().find_map(BurnKind::wrong);
        wrong.map_or(Ok(kinds), |wrong| Err(BurnError::Range(wrong)))
    }

    fn may_go_first(&self) -> bool {
        !self.ordinary && self.cpu_share.is_some_and(|share| share <= LARGEST_FIRST_SHARE)
    }
}

/// Burns until `stop` is set, or the time is over. `say` hears at once what is not as asked for.
pub fn burn(plan: &BurnPlan, stop: &AtomicBool, say: &(dyn Fn(&str) + Sync)) -> Result<Burnt, BurnError> {
    // What takes long, memory that is touched, is not part of what was burnt.
    let mut kinds = plan.kinds()?;
    if plan.cpu_share.is_some_and(|share| share > LARGEST_FIRST_SHARE) && !plan.ordinary {
        say("more than 90 % is not taken before all others: the kernel's own threads need the rest");
    }
    let (start_ns, cpu_ns) = (monotonic_ns(), cpu::process_time_ns());
    let end_ns = plan.time_ns.map_or(u64::MAX, |time_ns| start_ns.saturating_add(time_ns));
    let pace = Pace { start_ns, end_ns, stop };
    let outcomes: Result<Vec<BurnerEnd>, BurnError> = thread::scope(|scope| {
        let threads = kinds.iter_mut().map(|kind| {
            let burn = move || -> Result<BurnerEnd, BurnError> {
                plan.on.map_or(Ok(()), cpu::pin)?;
                let not_first = kind.go_first().err().map(|why| why.to_string());
                not_first.iter().for_each(|why| say(&format!("as an ordinary thread: {why}")));
                Ok(BurnerEnd { not_first, paced: kind.burn(&pace) })
            };
            thread::Builder::new().name("burner".into()).spawn_scoped(scope, burn)
        });
        let threads: Vec<_> = threads.collect();
        if threads.iter().any(Result::is_err) {
            // The others would go on for ever.
            stop.store(true, Relaxed);
        }
        threads.into_iter().map(|thread| thread?.join().map_err(|_| BurnError::Died)?).collect()
    });
    let (wall_ns, cpu_ns) = (monotonic_ns() - start_ns, cpu::process_time_ns() - cpu_ns);
    Ok(account(plan, &kinds, outcomes?, wall_ns, cpu_ns))
}

struct BurnerEnd {
    not_first: Option<String>,
    paced: Paced,
}

fn account(
    plan: &BurnPlan,
    kinds: &[BurnKind],
    outcomes: Vec<BurnerEnd>,
    wall_ns: u64,
    cpu_ns: u64,
) -> Burnt {
    let ended: Vec<(&BurnKind, BurnerEnd)> = kinds.iter().zip(outcomes).collect();
    let done = |wanted: fn(&BurnKind) -> bool| {
        ended.iter().filter(|(kind, _)| wanted(kind)).map(|(_, outcome)| outcome.paced.done).sum()
    };
    let not_first = ended.iter().find_map(|(_, outcome)| outcome.not_first.clone());
    Burnt {
        wall_ns,
        cpu_ns,
        share_ns: done(|kind| matches!(kind, BurnKind::Cpu { .. })),
        bytes: done(|kind| matches!(kind, BurnKind::Memory { .. })),
        calls: done(|kind| matches!(kind, BurnKind::Calls { .. })),
        first: plan.may_go_first() && not_first.is_none(),
        not_first,
        behind: ended.iter().filter_map(|(kind, outcome)| kind.behind(&outcome.paced)).collect(),
    }
}

#[cfg(test)]
mod tests;
