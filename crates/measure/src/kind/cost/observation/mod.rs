//! How a benchmark is observed: when it passed its observation points (marks), and what its tree of
//! processes spent. The benchmark itself is unchanged.
//!
//! Three means, which [`BenchmarkWatch::choose`] tries in this order:
//!
//! - kernel programs at tracepoints ([`netfathom_bpf::tree`]), which need privilege. The benchmark waits for
//!   nothing; with marks every system call of the machine takes a little longer.
//! - notification ([`netfathom_sys::notify`]), which needs none. The benchmark waits at every call of a kind that
//!   can be a mark until a thread of ours has looked at it, and may not gain rights by set-user-ID bits.
//! - nothing but start and end.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use netfathom_bpf::tree::{CallTimes, TreeError};
use netfathom_model::plan::MarkMeans;
use netfathom_model::record::CpuWaits;
use netfathom_sys::child::ExecTime;
use netfathom_sys::process::{self, Process, Waited};
use netfathom_sys::{clock, notify};

mod notification;
mod points;
mod spent;
#[cfg(test)]
mod tests;
mod tracepoints;

pub use points::{CallPoint, Points};
pub use spent::{Spent, known};

use self::notification::Notified;
use self::tracepoints::Traced;

/// How often the kernel's memory is emptied while a benchmark runs.
const DRAIN: Duration = Duration::from_millis(200);

/// As records and errors call it.
pub fn described(means: MarkMeans) -> &'static str {
    match means {
        MarkMeans::Tracepoints => "tracepoints",
        MarkMeans::Notification => "seccomp notification",
        MarkMeans::Ends => "start and end only",
    }
}

/// Why a benchmark cannot be observed as asked for.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error("{0}")]
    Points(String),
    #[error("cannot observe by {}: {why}; omit --marks-by to use one that works", described(*.means))]
    Means { means: MarkMeans, why: String },
    #[error("cannot time system calls by tracepoints: {0}")]
    Records(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The place of its point among those that were asked for.
    pub index: usize,
    /// When the call began, by CLOCK_MONOTONIC in nanoseconds; with notification, when the notification arrived.
    pub at_ns: u64,
}

#[derive(Clone, Debug)]
pub struct Observed {
    /// Just before it was put in place of our fork, by CLOCK_MONOTONIC in nanoseconds.
    pub started_ns: u64,
    /// Each time that a mark was reached, in order of time. One open can be several marks.
    pub marks: Vec<Reached>,
    /// When the watch learned that its first process had ended, in the same way by all means: its
    /// memory is gone, and a thread of ours has woken up, which takes microseconds and on a busy
    /// machine longer. Two runs can be compared by it, as either includes the delay.
    pub ended_ns: u64,
    pub status: ExitStatus,
    pub spent: Spent,
    /// Possible marks that could not be identified: events without room, paths that could not be read,
    /// threads beyond the number that can be followed.
    pub lost: u64,
}

/// A benchmark that was started and has not been finished.
struct Running {
    exec: ExecTime,
    notified: Option<Notified>,
    ended_ns: Option<u64>,
}

/// Observes a benchmark, one start after the other.
pub struct BenchmarkWatch {
    points: Points,
    means: MarkMeans,
    /// With tracepoints only.
    traced: Option<Traced>,
    running: Option<Running>,
}

impl BenchmarkWatch {
    /// Chooses how these points are observed: as asked for, or by the first means that works. What that
    /// leaves out is returned with its reason. With `records` all its system calls are timed as well, which only
    /// tracepoints can; it costs more than marks do.
    pub fn choose(
        points: &Points,
        asked: Option<MarkMeans>,
        records: bool,
    ) -> Result<(Self, Option<String>), WatchError> {
        let watch = |means, traced| Self { points: points.clone(), means, traced, running: None };
        let by = |means| attempt(means, points, records).map(|traced| watch(means, traced));
        if let Some(means) = asked {
            return Ok((by(means)?, None));
        }
        let traced = match by(MarkMeans::Tracepoints) {
            Err(WatchError::Means { why, .. }) => why,
            tried => return Ok((tried?, None)),
        };
        if records {
            return Err(WatchError::Records(traced));
        }
        let traced =
            format!("resources are those that the parent of a process gets: no tracepoints: {traced}");
        if *points == Points::Ends {
            return Ok((watch(MarkMeans::Ends, None), Some(traced)));
        }
        Ok(match by(MarkMeans::Notification) {
            Ok(notified) => (notified, Some(traced)),
            Err(e) => (watch(MarkMeans::Ends, None), Some(format!("no observation points: {e}; {traced}"))),
        })
    }

    pub fn means(&self) -> MarkMeans {
        self.means
    }

    /// Starts the benchmark; `armed` says whether with its observation points, which are there from now until
    /// it is finished, and at no other time. It adds to the command, so make a new one for each start. A
    /// benchmark that was started before is no longer observed.
    pub fn start(&mut self, command: &mut Command, armed: bool) -> io::Result<Child> {
        let observes = armed && self.points != Points::Ends && self.means == MarkMeans::Notification;
        let notified = observes.then(|| Notified::of(command, &self.points)).transpose()?;
        // Last of all that is done between fork and exec.
        let exec = ExecTime::note(command)?;
        if let Some(notified) = &notified {
            notified.starts_at(exec.clone());
        }
        let child = match &mut self.traced {
            Some(traced) => {
                traced.expect(armed)?;
                match command.spawn() {
                    Ok(child) => child,
                    Err(e) => return traced.expect_no_more().and(Err(e)),
                }
            }
            None => command.spawn()?,
        };
        self.running = Some(Running { exec, notified, ended_ns: None });
        Ok(child)
    }

    /// Waits until the benchmark's first process ends, at most for so long or until `stop` is set, which is
    /// looked at every 50 ms. What is to become of one that has not ended is the caller's decision.
    pub fn wait(&mut self, child: &Child, limit: Duration, stop: &AtomicBool) -> io::Result<Waited> {
        let process = Process::open(child.id())?;
        let began = Instant::now();
        loop {
            let left = limit.saturating_sub(began.elapsed());
            let waited = process.wait(left.min(DRAIN), stop)?;
            let now_ns = clock::monotonic_ns();
            if let Some(traced) = &mut self.traced {
                traced.drain(&self.points)?;
            }
            match (waited, &mut self.running) {
                (Waited::Ended, Some(running)) => {
                    running.ended_ns.get_or_insert(now_ns);
                }
                (Waited::TimeUp, _) if left > DRAIN => continue,
                _ => {}
            }
            return Ok(waited);
        }
    }

    /// Reaps the benchmark and tells what was observed. It waits for the end without a limit, so call
    /// [`Self::wait`] before. What its first process left behind should have ended and been reaped: what that
    /// spent is missing otherwise.
    pub fn finish(&mut self, child: Child) -> io::Result<Observed> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        let waited = self.wait(&child, Duration::MAX, &NEVER);
        if let Some(traced) = &mut self.traced {
            traced.disarm()?;
        }
        waited?;
        let nothing = || io::Error::other("no benchmark was started");
        let Running { exec, notified, ended_ns } = self.running.take().ok_or_else(nothing)?;
        let first = process::run_times(child.id()).ok();
        let ended = process::reap(child)?;
        let (marks, spent, lost) = match &mut self.traced {
            Some(traced) => traced.tell(&self.points)?,
            None => {
                let (marks, lost) = notified.map(|notified| notified.take()).unwrap_or_default();
                (marks, Spent::of_usage(&ended.usage, first), lost)
            }
        };
        let (started_ns, ended_ns) = exec.at_ns().zip(ended_ns).ok_or_else(nothing)?;
        Ok(Observed { started_ns, marks, ended_ns, status: ended.status, spent, lost })
    }

    /// From now on follows who has the CPUs that the benchmark waits for, or ends it; `false` where nothing sees it.
    pub fn follow_waits(&mut self, follow: bool) -> io::Result<bool> {
        self.traced.as_mut().map_or(Ok(false), |traced| traced.follow_waits(follow).map(|()| true))
    }

    /// What it waited while waits were followed; `None` where nothing sees it.
    pub fn waits(&self) -> io::Result<Option<CpuWaits>> {
        self.traced.as_ref().map(Traced::waits).transpose()
    }

    /// The system calls of the run that ended last, where they are recorded; to be asked before the next start.
    pub fn calls(&self) -> io::Result<Vec<CallTimes>> {
        self.traced.as_ref().map_or_else(|| Ok(Vec::new()), Traced::calls)
    }
}

fn attempt(means: MarkMeans, points: &Points, records: bool) -> Result<Option<Traced>, WatchError> {
    let refused = |why: String| WatchError::Means { means, why };
    match means {
        MarkMeans::Tracepoints => match Traced::attach(points, records) {
            Ok(traced) => Ok(Some(traced)),
            Err(TreeError::Mark(why)) => Err(WatchError::Points(why)),
            Err(e) => Err(refused(e.to_string())),
        },
        MarkMeans::Notification => {
            notification::numbers(points)?;
            notify::probe().map_err(|e| refused(e.to_string()))?;
            Ok(None)
        }
        MarkMeans::Ends => Ok(None),
    }
}
