//! The measurements that the experiments are made of.

use std::env;
use std::sync::atomic::AtomicBool;

use netfathom_model::plan::{
    BenchmarkKind, CostLevel, CostLoad, CostPlan, Interception, MarkMeans, PAPER_FRAME_BYTES, Project,
    Subject, WhenEnded,
};
use netfathom_model::record::Measurement;
use netfathom_model::units::parse_number;

use super::{originals, projects};
use crate::ground::{Ground, last_processor};
use crate::part::{PartObserver, Work};
use netfathom_measure::ground::error::RunError;
use netfathom_measure::ground::observer::Progressed;
use netfathom_measure::kind::cost::error::CostError;

pub const TCPDUMP: &str = "tcpdump";
pub const MAKE: &str = "make";
pub const INTERCEPT: &str = "interception";

/// The paper's tree: entries and bytes.
const PAPER_TREE: (u32, u64) = (12_688, 187_000_000);
/// The same entries in larger files: a tar of it takes ten times as long and more as the second after which tcpdump
/// gets its packets at the latest.
const LONG_TREE: (u32, u64) = (PAPER_TREE.0, 4 * PAPER_TREE.1);
/// That of the short form: a tar of it takes some tenths of a second.
const SHORT_TREE: (u32, u64) = (1_000, 14_700_000);
/// What tcpdump needs until it captures.
const SETTLE_NS: u64 = 500_000_000;
const GRACE_NS: u64 = 3_000_000_000;

/// A tar, and nothing beside it yet. It compresses: most of the paper's processor time is in user mode (table 1).
fn tar(ground: &Ground<'_>, full: (u32, u64), most_s: f64) -> CostPlan {
    let (entries, bytes) = if ground.plan.quick { SHORT_TREE } else { full };
    let kind = BenchmarkKind::Tar { gzip: true, entries, bytes, cold: false, directory: None, early: false };
    CostPlan {
        precision: 0.01,
        least_blocks: ground.trials(3, 5),
        most_blocks: 200,
        most_ns: ground.length_ns(60.0, most_s),
        settle_ns: SETTLE_NS,
        grace_ns: GRACE_NS,
        // On another processor than the tar's the program would take little from it.
        cpu: vec![last_processor()],
        program_cpu: vec![last_processor()],
        seed: ground.plan.seed,
        ..CostPlan::alone("tar", kind)
    }
}

/// The paper's tcpdump, in the lab where its load is.
pub fn tcpdump(ground: &Ground<'_>) -> CostPlan {
    let argv = ["tcpdump", "-eX", "-s0", "-n", "-i", "veth0", "udp"].map(String::from).to_vec();
    let none = CostLevel { text: "0".into(), bits_per_s: Some(0.0) };
    let level = |level: &originals::Level| CostLevel {
        text: level.ours.into(),
        bits_per_s: parse_number(level.ours).ok(),
    };
    CostPlan {
        subject: Subject::Command { argv },
        load: Some(CostLoad::Udp { frame_bytes: PAPER_FRAME_BYTES }),
        levels: std::iter::once(none).chain(originals::TCPDUMP.levels.iter().map(level)).collect(),
        ..tar(ground, LONG_TREE, 5400.0)
    }
}

/// make on projects that are copied or generated for it.
pub struct Make {
    plan: CostPlan,
    projects: Option<Vec<Project>>,
    short: bool,
}

/// See [`Make`].
pub fn make(ground: &Ground<'_>) -> Make {
    let level = |level: &originals::Level| CostLevel { text: level.ours.into(), bits_per_s: None };
    let plan = CostPlan {
        levels: originals::MAKE.levels.iter().map(level).collect(),
        settle_ns: 0,
        when_ended: WhenEnded::Fine,
        ..tar(ground, PAPER_TREE, 1500.0)
    };
    Make { plan, projects: ground.plan.projects.clone(), short: ground.plan.quick }
}

impl Work for Make {
    fn run(
        &self,
        observer: &mut PartObserver<'_>,
        stop: &AtomicBool,
    ) -> Result<Progressed<Measurement>, RunError> {
        let (parent, original) = (env::temp_dir(), &originals::MAKE);
        let projects = match &self.projects {
            Some(real) => projects::copy(&parent, original, real),
            None => projects::generate(&parent, original, self.short),
        };
        let projects = projects.map_err(CostError::Benchmark)?;
        let directory = projects.path().join(netfathom_model::plan::LEVEL_WORD);
        let argv = ["make", "-s", "-B", "-C", &directory.to_string_lossy()].map(String::from).to_vec();
        let plan = CostPlan { subject: Subject::Command { argv }, ..self.plan.clone() };
        plan.run(observer, stop)
    }
}

/// Every observer that is installed here.
pub fn intercept(ground: &Ground<'_>) -> CostPlan {
    let is_installed = |way: &Interception| netfathom_measure::kind::cost::is_installed(*way);
    let ways = Interception::ALL.into_iter().filter(is_installed).collect();
    CostPlan {
        subject: Subject::Interception { ways },
        means: Some(MarkMeans::Tracepoints),
        precision: 0.002,
        cpu: Vec::new(),
        ..tar(ground, PAPER_TREE, 1500.0)
    }
}
