//! What it takes to watch the whole host, before it is watched.

use std::time::{Duration, Instant};

use netfathom_bpf::probe;
use netfathom_bpf::run_time::Counting;
use netfathom_bpf::watch::{Detail, Selection, Watch};
use netfathom_model::plan::WatchPlan;

/// For how long the hooks are attached.
const SAMPLE: Duration = Duration::from_millis(200);

/// What a sample took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostCost {
    /// Calls of its programs.
    pub calls_per_s: f64,
    /// Of one CPU, 0 to 1 and beyond: the programs, and what it takes to call them.
    pub share: f64,
}

impl HostCost {
    /// Takes a second, most of it to load the programs. `None` where the kernel does not count what they take
    /// (CAP_SYS_ADMIN), or refuses them.
    #[must_use]
    pub fn sample(plan: &WatchPlan) -> Option<Self> {
        let hook_ns = probe::hook_ns().ok()?;
        let counting = Counting::start().ok()?;
        // Without the sums of sockets, since the kernel takes seconds to verify the programs that have them.
        let detail = Detail { by_socket: false, slow: false, samples: true, unix: false };
        let mut watch = Watch::attach(Selection::All, &plan.directions, detail).ok()?;
        watch.follow_datagrams().ok()?;
        watch.begin_sample().ok()?;
        let (begun, before) = (Instant::now(), watch.run_time().ok()?);
        std::thread::sleep(SAMPLE);
        let (seconds, took) = (begun.elapsed().as_secs_f64(), watch.run_time().ok()? - before);
        watch.end_sample();
        drop(counting);
        let ns = took.ns as f64 + took.runs as f64 * hook_ns;
        Some(Self { calls_per_s: took.runs as f64 / seconds, share: ns / seconds / 1e9 })
    }
}
