//! From the plan of a benchmark to one that can be run.

use std::collections::BTreeSet;
use std::env;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_model::plan::{
    Benchmark, BenchmarkKind, CostPlan, Interception, MarkMeans, MarkSource, Subject,
};

use super::amounts::{Occurrences, Unknown};
use super::benchmark_program::{SpanSource, Started, TreeState, Watches, first_limit};
use super::emitted_marks::Emitted;
use super::marking::Marking;
use super::{Workload, call_choice, intercept};
use crate::kind::cost::benchmark::archive::Archive;
use crate::kind::cost::benchmark::tree::{Shape, Tree};
use crate::kind::cost::error::CostError;
use crate::kind::cost::light::{self, Phase};
use crate::kind::cost::observation::{BenchmarkWatch, Points};
use crate::kind::cost::program::Context;

/// Makes the benchmarks of a plan ready, and says what it is at.
pub fn make(
    plan: &CostPlan,
    context: &Context,
    says: &mut dyn FnMut(String),
    stop: &AtomicBool,
) -> Result<Vec<Box<dyn Workload>>, CostError> {
    plan.benchmarks
        .iter()
        .map(|benchmark| {
            says(format!("getting {} ready", benchmark.name));
            Maker { plan, context, benchmark, stop }.make()
        })
        .collect()
}

struct Maker<'a> {
    plan: &'a CostPlan,
    context: &'a Context,
    benchmark: &'a Benchmark,
    stop: &'a AtomicBool,
}

impl Maker<'_> {
    fn make(&self) -> Result<Box<dyn Workload>, CostError> {
        Ok(match &self.benchmark.kind {
            BenchmarkKind::Tar { gzip, entries, bytes, cold, directory, early } => {
                let shape = Shape { entries: *entries, bytes: *bytes, seed: self.plan.seed, early: *early };
                let archive = if *gzip { Archive::TarGzip } else { Archive::Tar };
                Box::new(self.tar(archive, shape, *cold, directory.as_deref())?)
            }
            BenchmarkKind::Light { phases, phase_ns } => Box::new(self.light(phases, *phase_ns)?),
            BenchmarkKind::Command { command, marks } => Box::new(self.command(command, marks)?),
            BenchmarkKind::Marking { pid, window_ns } => {
                Box::new(Marking::new(&self.benchmark.name, *pid, *window_ns)?)
            }
        })
    }

    fn tar(
        &self,
        archive: Archive,
        shape: Shape,
        cold: bool,
        directory: Option<&Path>,
    ) -> Result<Started, CostError> {
        archive.check().map_err(CostError::benchmark)?;
        let parent = directory.map_or_else(env::temp_dir, Path::to_owned);
        let mut progress =
            |_| if self.stop.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        let tree = Tree::create(&parent, &shape, &mut progress).map_err(CostError::benchmark)?;
        let marks = tree.marks();
        let root = tree.root().to_owned();
        let about = format!(
            "GNU tar reads a tree of {} files and directories, {:.0} MB, with {} planted files{}",
            shape.entries,
            shape.bytes as f64 / 1e6,
            marks.len(),
            if archive == Archive::TarGzip { ", and gzip compresses it" } else { "" }
        );
        let (source, points) = (SpanSource::Points(names(&marks)), Points::Opens(marks));
        let started = self.started(about, Box::new(move || archive.command(&root)), points, source)?;
        Ok(Started { state: Some(TreeState { tree, cold, resident: None }), ..started })
    }

    fn light(&self, names: &[String], phase_ns: u64) -> Result<Started, CostError> {
        let phase = |name: &String| {
            let known: Vec<&str> = light::PHASES.iter().map(|phase| phase.name).collect();
            light::phase(name)
                .ok_or_else(|| CostError::UnknownPhase { name: name.clone(), known: known.join(", ") })
        };
        let phases: Vec<&'static Phase> = if names.is_empty() {
            light::PHASES.iter().collect()
        } else {
            names.iter().map(phase).collect::<Result<_, _>>()?
        };
        let sizes =
            light::calibrate(&env::temp_dir(), &phases, phase_ns, self.stop).map_err(CostError::benchmark)?;
        let own = env::current_exe().map_err(CostError::benchmark)?;
        let written = sizes.to_string();
        let command = move || {
            let mut command = Command::new(&own);
            command.args(["light", "--sizes", &written]);
            command
        };
        let about = format!(
            "{} short phases, each about one resource, in the sizes {}",
            phases.len(),
            sizes.to_string().replace(',', ", ")
        );
        Ok(Started {
            phases: phases.iter().map(|phase| (phase.name.into(), phase.resource.into())).collect(),
            constants_ns: sizes.phases().iter().map(|(phase, size)| phase.constant_ns * size).collect(),
            ..self.started(about, Box::new(command), Points::Ends, emitted()?)?
        })
    }

    fn command(&self, words: &[String], marks: &MarkSource) -> Result<Started, CostError> {
        let about = format!("`{}`", words.join(" "));
        let words = words.to_vec();
        let command = move || {
            let mut command = Command::new(words.first().map_or("", String::as_str));
            command.args(words.iter().skip(1));
            command
        };
        let (points, source) = match marks {
            MarkSource::Emitted => (Points::Ends, emitted()?),
            MarkSource::Files(files) => (Points::Opens(files.clone()), SpanSource::Points(names(files))),
            MarkSource::Auto => call_choice::choose(&command, self.home(), self.plan, self.stop)?,
        };
        self.started(about, Box::new(command), points, source)
    }

    /// The program under test itself is where the load is, if it is the benchmark.
    fn home(&self) -> Option<std::sync::Arc<netfathom_sys::netns::Namespace>> {
        self.context.namespace.clone().filter(|_| self.plan.own)
    }

    fn started(
        &self,
        about: String,
        command: Box<dyn Fn() -> Command + Sync>,
        points: Points,
        source: SpanSource,
    ) -> Result<Started, CostError> {
        let (watches, left_out) = self.watches(&points)?;
        Ok(Started {
            name: self.benchmark.name.clone(),
            about,
            command,
            state: None,
            source,
            watches,
            namespace: self.home(),
            cpus: self.plan.cpu.clone(),
            phases: Vec::new(),
            constants_ns: Vec::new(),
            own: self.plan.own,
            absent: left_out,
            unknown: Unknown::default(),
            lost: Occurrences::default(),
            sequence: None,
            limit: first_limit(self.plan.most_ns),
        })
    }

    /// The one that all trials have, and those of other ways to observe.
    fn watches(&self, points: &Points) -> Result<(Watches, Vec<String>), CostError> {
        let choose = |points: &Points, means| {
            BenchmarkWatch::choose(points, means, self.plan.own).map_err(CostError::benchmark)
        };
        let Subject::Interception { ways } = &self.plan.subject else {
            let (watch, left_out) = choose(points, self.plan.means)?;
            return Ok((vec![(None, watch)], left_out.into_iter().collect()));
        };
        // The benchmark is unobserved, unless observation is what is measured.
        let mut all = vec![(None, choose(&Points::Ends, Some(MarkMeans::Ends))?.0)];
        for &way in ways {
            let watch = match way {
                Interception::Tracepoints => choose(points, Some(MarkMeans::Tracepoints))?,
                Interception::Notification => choose(points, Some(MarkMeans::Notification))?,
                _ => choose(&Points::Ends, Some(MarkMeans::Ends))?,
            };
            if !intercept::is_installed(way) {
                return Err(CostError::Benchmark(format!(
                    "{} is not installed: leave it out, or install it",
                    way.name()
                )));
            }
            all.push((Some(way), watch.0));
        }
        Ok((all, Vec::new()))
    }
}

fn emitted() -> Result<SpanSource, CostError> {
    Emitted::create().map(SpanSource::Emitted).map_err(CostError::benchmark)
}

fn names(files: &[PathBuf]) -> Vec<String> {
    let short: Vec<_> = files.iter().map(|file| file.file_name().unwrap_or_default()).collect();
    let distinct = short.iter().collect::<BTreeSet<_>>().len() == files.len();
    let name = |(file, short): (&PathBuf, &&std::ffi::OsStr)| {
        if distinct { short.to_string_lossy().into_owned() } else { file.display().to_string() }
    };
    files.iter().zip(&short).map(name).collect()
}
