//! A benchmark that is started for each run.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use itertools::Itertools as _;
use netfathom_bpf::tree::CallTimes;
use netfathom_model::plan::{Interception, MarkMeans};
use netfathom_model::record::{Amount, Condition, CostBenchmark, CpuWaits};
use netfathom_sys::cpu;
use netfathom_sys::netns::Namespace;
use netfathom_sys::perf_event::ChildCounters;
use netfathom_sys::process::Waited;

use super::amounts::{Occurrences, Unknown, amounts_of_counters, totals};
use super::emitted_marks::{Came, Emitted, Kept};
use super::marking::DAMAGED;
use super::{BenchmarkRun, Workload, intercept};
use crate::kind::cost::benchmark::tree::Tree;
use crate::kind::cost::error::{CostError, step};
use crate::kind::cost::observation::{self, BenchmarkWatch, Observed, described};
use crate::kind::cost::program::{Family, Output, Starting, fresh_word};
use crate::kind::cost::sequence::{Reached, Sequence};

/// A measurement of seconds may have benchmarks that take longer than it should.
const LEAST_FIRST: Duration = Duration::from_secs(10);
/// A run that takes this many times as long as the first one is taken to be endless.
const LIMIT_FACTOR: u32 = 50;
const LEAST_LIMIT: Duration = Duration::from_secs(30);
/// What is left of a benchmark that has ended, or is to end.
pub const GRACE: Duration = Duration::from_millis(200);

/// How long a run may take before it is known how long one takes: as long as all of them should.
pub fn first_limit(most_ns: u64) -> Duration {
    Duration::from_nanos(most_ns).max(LEAST_FIRST)
}

/// Who takes marks: in all trials, and in those of a way of their own.
pub type Watches = Vec<(Option<Interception>, BenchmarkWatch)>;

pub enum SpanSource {
    /// Calls that are seen from outside; the names of the points.
    Points(Vec<String>),
    Emitted(Emitted),
}

pub struct Started {
    pub name: String,
    pub about: String,
    pub command: Box<dyn Fn() -> Command + Sync>,
    /// What it reads, where that was made for it.
    pub state: Option<TreeState>,
    pub source: SpanSource,
    /// Who takes them: in all trials, and in those of a way of their own.
    pub watches: Watches,
    /// Where it runs; `None` for the namespace of this process.
    pub namespace: Option<Arc<Namespace>>,
    /// Its processors; all if empty.
    pub cpus: Vec<usize>,
    /// Whether only the time between its own marks counts, and each span is about what its last mark is named after.
    pub phases: Vec<(String, String)>,
    /// What each of these spans takes on any machine, in nanoseconds.
    pub constants_ns: Vec<u64>,
    /// Whether its own system calls are reported.
    pub own: bool,
    pub absent: Vec<String>,
    /// What was not known of what its runs spent.
    pub unknown: Unknown,
    /// What may have been marks and was lost, of runs that count.
    pub lost: Occurrences,
    /// The marks, once they are known.
    pub sequence: Option<Sequence>,
    pub limit: Duration,
}

/// A tree that was made for a benchmark: what a run finds of it.
pub struct TreeState {
    pub tree: Tree,
    /// Whether its files are dropped from the page cache, or read.
    pub cold: bool,
    /// Which share of it was in the page cache before a run, least and most.
    pub resident: Option<(f64, f64)>,
}

impl TreeState {
    /// Puts it as it was.
    pub fn prepare(&mut self) -> Result<(), CostError> {
        if self.cold { self.tree.cold() } else { self.tree.warm() }.map_err(CostError::benchmark)?;
        let now = self.tree.resident_share().map_err(CostError::benchmark)?;
        let (least, most) = self.resident.unwrap_or((now, now));
        self.resident = Some((least.min(now), most.max(now)));
        Ok(())
    }

    pub fn about(&self) -> Option<String> {
        let (least, most) = self.resident?;
        let (least, most) = (100.0 * least, 100.0 * most);
        Some(format!("; {least:.0} to {most:.0} % of it was in the page cache before a run"))
    }
}

/// One run as it was observed.
struct Ran {
    observed: Observed,
    /// Its marks, and what may have been marks and was lost.
    came: Came,
    counters: Vec<Amount>,
    calls: Vec<CallTimes>,
    detail: String,
    /// How it came to its end, where that was not by itself.
    waited: Waited,
}

impl Started {
    /// One run, with observation points or without, or observed in some way.
    fn once(&mut self, armed: bool, way: Option<Interception>, stop: &AtomicBool) -> Result<Ran, CostError> {
        let at = self.watches.iter().position(|(of, _)| *of == way).unwrap_or(0);
        let mut command = (self.command)();
        if let Some(way) = way {
            command = intercept::wrapped(way, command);
        }
        let word = fresh_word();
        command.env(Family::WORD, &word).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        if let SpanSource::Emitted(emitted) = &mut self.source {
            emitted.attach(&mut command);
        }
        let watch = &mut self.watches[at].1;
        let start = || ChildCounters::around(|| watch.start(&mut command, armed));
        let starting = Starting::now();
        let started =
            start_there(&self.cpus, self.namespace.as_deref(), start).map_err(CostError::Benchmark)?;
        let (mut child, counters) = started.map_err(|source| CostError::Start {
            what: "the benchmark",
            program: (self.command)().get_program().to_string_lossy().into_owned(),
            source,
        })?;
        let family = starting.family("the benchmark", word, child.id(), false);
        let output = Output::default();
        if let Some(error) = child.stderr.take() {
            output.read(error).map_err(step("start a thread that reads what the benchmark writes"))?;
        }
        let (waited, mut came) = self.await_end(at, &child, stop)?;
        // Who is left is no part of it any more; who was not done has to be ended.
        family.end(if waited == Waited::Ended { GRACE } else { Duration::ZERO })?;
        let observed = self.watches[at].1.finish(child).map_err(step("observe the benchmark"))?;
        came.lost = came.lost.saturating_add(observed.lost);
        if let SpanSource::Points(names) = &self.source {
            let named = |mark: &observation::Reached| {
                Some(Reached { name: names.get(mark.index)?.clone(), at_ns: mark.at_ns })
            };
            came.marks = observed.marks.iter().filter_map(named).collect();
        }
        let calls = if self.own {
            self.watches[at].1.calls().map_err(step("read its system calls"))?
        } else {
            Vec::new()
        };
        let counters = amounts_of_counters(&counters);
        Ok(Ran { observed, came, counters, calls, detail: output.last_line(), waited })
    }

    fn await_end(
        &mut self,
        at: usize,
        child: &Child,
        stop: &AtomicBool,
    ) -> Result<(Waited, Came), CostError> {
        let failed = step("wait for the benchmark");
        let mut wait = || self.watches[at].1.wait(child, self.limit, stop);
        let (waited, came) = match &mut self.source {
            SpanSource::Emitted(emitted) => {
                let kept = self.sequence.as_ref().map_or(Kept::ToLearn, |known| Kept::Of(known.needed()));
                emitted.during(kept, wait)?
            }
            SpanSource::Points(_) => (wait(), Came::default()),
        };
        Ok((waited.map_err(failed)?, came))
    }

    /// Why a run is none, if it is none.
    fn failure(&self, ran: &Ran) -> Option<String> {
        let name = &self.name;
        match ran.waited {
            Waited::TimeUp => {
                let limit = self.limit.as_secs();
                let remedy =
                    if self.sequence.is_none() { ": it has to end by itself, within --time" } else { "" };
                Some(format!("{name} had not ended after {limit} s and was killed{remedy}"))
            }
            Waited::Ended if !ran.observed.status.success() => {
                Some(format!("{name} failed ({}){}", ran.observed.status, ran.detail))
            }
            Waited::Ended if ran.came.damaged > 0 => Some(format!("{name}: {DAMAGED}")),
            _ => None,
        }
    }

    /// Each point that was not reached is one that never will be: found out before anything is measured.
    fn reached_all(&mut self, marks: &[Reached]) -> Result<(), CostError> {
        let SpanSource::Points(names) = &self.source else { return Ok(()) };
        for name in names {
            let times = marks.iter().filter(|mark| mark.name == *name).count();
            if times == 0 && self.watches[0].1.means() != MarkMeans::Ends {
                return Err(CostError::Benchmark(format!(
                    "the mark {name} is never reached by {}: it opens no file of that name; look with strace -f \
                     -e trace=%file",
                    self.name
                )));
            }
            if times > 1 {
                self.absent.push(format!("{name} is reached {times} times in a run: the first counts"));
            }
        }
        Ok(())
    }

    /// What a span takes on any machine is nothing that could be taken from it.
    fn less_constants(&self, mut spans_ns: Vec<f64>) -> Vec<f64> {
        spans_ns
            .iter_mut()
            .zip(&self.constants_ns)
            .for_each(|(span_ns, constant)| *span_ns -= *constant as f64);
        spans_ns
    }
}

impl Workload for Started {
    fn name(&self) -> &str {
        &self.name
    }

    fn described(&self) -> CostBenchmark {
        let state = self.state.as_ref().and_then(TreeState::about);
        let means = match &self.source {
            SpanSource::Emitted(_) => "the benchmark's own marks",
            SpanSource::Points(_) => described(self.watches[0].1.means()),
        };
        let (spans, resources) = self.phases.iter().cloned().unzip();
        let lost = self.lost.described(|count, runs| {
            format!("{count} events that may have been marks were lost in {runs} that count")
        });
        CostBenchmark {
            name: self.name.clone(),
            about: self.about.clone() + &state.unwrap_or_default(),
            means: means.into(),
            marks: self.sequence.as_ref().map(Sequence::names).unwrap_or_default(),
            spans,
            resources,
            absent: self.absent.iter().cloned().chain(self.unknown.descriptions()).chain(lost).collect(),
            ..CostBenchmark::default()
        }
    }

    fn has_points(&self) -> bool {
        matches!(&self.source, SpanSource::Points(names) if !names.is_empty())
    }

    fn learn(&mut self, stop: &AtomicBool) -> Result<Duration, CostError> {
        self.prepare()?;
        let ran = self.once(true, None, stop)?;
        if ran.waited == Waited::Stopped {
            return Ok(Duration::ZERO);
        }
        if let Some(why) = self.failure(&ran) {
            return Err(CostError::Benchmark(why));
        }
        self.reached_all(&ran.came.marks)?;
        let marks = ran.came.marks.into_iter();
        let first: Vec<Reached> = match self.source {
            // A file that is opened again was reached before.
            SpanSource::Points(_) => marks.unique_by(|mark| mark.name.clone()).collect(),
            SpanSource::Emitted(_) => marks.collect(),
        };
        let inner = !self.phases.is_empty();
        let learned = Sequence::learn(&first, inner);
        let (sequence, notes) =
            learned.map_err(|why| CostError::Benchmark(format!("{}: {why}", self.name)))?;
        self.sequence = Some(sequence);
        self.absent.extend(notes);
        let what = [
            (ran.came.beyond, "marks came after those that its sequence is learned from"),
            (ran.came.lost, "events that may have been marks were lost"),
        ];
        let nonzero = what.iter().filter(|(count, _)| *count > 0);
        self.absent.extend(nonzero.map(|(count, what)| format!("in the first run {count} {what}")));
        let took = Duration::from_nanos(ran.observed.ended_ns.saturating_sub(ran.observed.started_ns));
        self.limit = self.limit.min((took * LIMIT_FACTOR).max(LEAST_LIMIT));
        Ok(took)
    }

    fn prepare(&mut self) -> Result<(), CostError> {
        self.state.as_mut().map_or(Ok(()), TreeState::prepare)
    }

    fn follow_waits(&mut self, follow: bool) -> Result<bool, CostError> {
        self.watches[0].1.follow_waits(follow).map_err(step("follow who has the CPUs"))
    }

    fn waits(&self) -> Result<Option<CpuWaits>, CostError> {
        self.watches[0].1.waits().map_err(step("read who had the CPUs"))
    }

    fn run(&mut self, condition: &Condition, stop: &AtomicBool) -> Result<BenchmarkRun, CostError> {
        let armed = condition.armed;
        let ran = self.once(armed || condition.way.is_some(), condition.way, stop)?;
        let during_ns = (ran.observed.started_ns, ran.observed.ended_ns);
        let spans_ns = match (self.failure(&ran), &self.sequence) {
            (Some(why), _) => Err(why),
            (None, None) => Err("its marks are not known".into()),
            // Without observation points there is the time of all of it.
            (None, Some(sequence)) if armed || !self.has_points() => {
                let spans_ns = sequence.spans_ns(during_ns.0, &ran.came.marks, during_ns.1);
                spans_ns
                    .map(|spans_ns| self.less_constants(spans_ns))
                    .map_err(|why| with_lost(why, ran.came.lost))
            }
            (None, Some(_)) => Ok(vec![(during_ns.1 - during_ns.0) as f64]),
        };
        if spans_ns.is_ok() {
            self.lost.add(ran.came.lost);
        }
        self.unknown.add(&ran.observed.spent);
        Ok(BenchmarkRun {
            spans_ns,
            during_ns,
            amounts: ran.observed.spent.amounts.into_iter().chain(ran.counters).collect(),
            calls: totals(&ran.calls),
            stopped: ran.waited == Waited::Stopped,
        })
    }
}

/// Starts something on these processors, all if there are none, and in this namespace, which a child inherits from the
/// thread that starts it.
pub fn start_there<T>(
    cpus: &[usize],
    namespace: Option<&Namespace>,
    start: impl FnOnce() -> T,
) -> Result<T, String> {
    let allow = |cpus: &[usize]| cpu::allow(cpus).map_err(|e| e.to_string());
    let enter = |namespace: &Namespace| namespace.enter().map_err(|e| e.to_string());
    let all = cpu::allowed().map_err(|e| e.to_string())?;
    let home = namespace.map(|_| Namespace::current()).transpose().map_err(|e| e.to_string())?;
    let pin = |to: &[usize]| if cpus.is_empty() { Ok(()) } else { allow(to) };
    let started = pin(cpus).and_then(|()| namespace.map_or(Ok(()), enter)).map(|()| start());
    // Back in any case.
    let back = home.as_ref().map_or(Ok(()), enter).and(pin(&all));
    started.and_then(|started| back.map(|()| started))
}

fn with_lost(why: String, lost: u64) -> String {
    if lost == 0 { why } else { format!("{why}; {lost} events were lost") }
}
