//! Simulated records, for the tests of tables, figures and claims.

use netfathom_model::layer::Layer;
use netfathom_model::plan::{MessagePlan, MessageTest, Place, Placement};
use netfathom_model::record::{
    Counted, Distribution, EndCost, MessageCell, MessageResult, MessageTrial, ProcessorPair, Shares,
};
use netfathom_model::verdict::Verdict;

/// Both ends on one processor, and on two that share nothing.
pub const PAIRS: [ProcessorPair; 2] = [
    ProcessorPair { shares: Shares::Same, client: 0, server: 0 },
    ProcessorPair { shares: Shares::Nothing, client: 0, server: 1 },
];

const MESSAGES: u64 = 1000;

/// Simulated times of a cell: µs a message in each round, and CPU time of both ends together.
pub struct CellTimes {
    us: Vec<f64>,
    cpu_us: f64,
}

impl CellTimes {
    pub fn each(us: &[f64], cpu_us: f64) -> Self {
        Self { us: us.to_vec(), cpu_us }
    }
}

/// A cell that may get simulated times.
pub struct Asked {
    pub placement: Placement,
    pub pair: usize,
    pub bytes: u64,
    pub layer: Layer,
}

/// A test in the paper's sizes, both ends in user space.
pub fn result(
    test: MessageTest,
    layers: &[Layer],
    times: impl Fn(&Asked) -> Option<CellTimes>,
) -> MessageResult {
    let plan = MessagePlan { layers: layers.to_vec(), ..MessagePlan::paper(test, Place::Lab) };
    planned(plan, times)
}

/// The cells of a plan; those without times are absent.
pub fn planned(plan: MessagePlan, times: impl Fn(&Asked) -> Option<CellTimes>) -> MessageResult {
    let mut cells = Vec::new();
    for &placement in &plan.placements {
        for (pair, &bytes) in
            (0..PAIRS.len()).flat_map(|pair| plan.sizes_bytes.iter().map(move |b| (pair, b)))
        {
            for layer in &plan.layers {
                let asked = Asked { placement, pair, bytes, layer: layer.clone() };
                cells.extend(times(&asked).map(|times| cell(asked, &times)));
            }
        }
    }
    MessageResult { pairs: PAIRS.to_vec(), cells, ..MessageResult::empty(plan) }
}

fn cell(asked: Asked, times: &CellTimes) -> MessageCell {
    let trials = times.us.iter().enumerate().map(|(round, &us)| trial(round as u32, us, times.cpu_us));
    MessageCell {
        layer: asked.layer,
        bytes: asked.bytes,
        placement: asked.placement,
        pair: asked.pair,
        trials: trials.collect(),
        rate: None,
        ratio: None,
        times: Distribution::from(&netfathom_stats::Distribution::new(5)),
        service: None,
        lag: None,
        calls: Counted::Not("not counted".into()),
        verdict: Verdict::default(),
    }
}

fn trial(round: u32, us: f64, cpu_us: f64) -> MessageTrial {
    let total = |us: f64| (us * 1e3 * MESSAGES as f64).round() as u64;
    let end = EndCost { cpu_ns: Some(total(cpu_us / 2.0)), waits: Some(MESSAGES / 4), ..EndCost::default() };
    MessageTrial {
        index: round,
        round,
        messages: MESSAGES,
        sent: MESSAGES,
        duration_ns: total(us),
        p50_ns: (us * 1e3).round() as i64,
        p99_ns: (us * 2e3).round() as i64,
        client: end,
        server: end,
        kernel_workers_ns: Some(total(1.0)),
        ..MessageTrial::default()
    }
}
