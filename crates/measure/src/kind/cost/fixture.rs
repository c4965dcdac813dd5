//! Generated plans and trials for tests.

use netfathom_model::plan::{BenchmarkKind, CostPlan, MarkSource, Subject};
use netfathom_model::record::{Comparison, CostBenchmark, CostTrial, Effect, Estimate, Outcome};

pub fn plan() -> CostPlan {
    let kind = BenchmarkKind::Command {
        command: ["sleep", "0.01"].map(Into::into).into(),
        marks: MarkSource::Emitted,
    };
    let subject = Subject::Command { argv: vec!["sleep".into(), "60".into()] };
    CostPlan { subject, ..CostPlan::alone("sleep", kind) }
}

pub fn trial(block: u32, condition: usize, spans_ns: &[f64]) -> CostTrial {
    CostTrial {
        block,
        condition,
        spans_ns: spans_ns.to_vec(),
        total_ns: spans_ns.iter().sum(),
        ..CostTrial::default()
    }
}

pub fn benchmark(trials: Vec<CostTrial>) -> CostBenchmark {
    CostBenchmark {
        name: "sleep".into(),
        marks: vec!["start".into(), "end".into()],
        trials,
        ..CostBenchmark::default()
    }
}

/// A comparison that says nothing but its outcome.
pub fn comparison(effect: Effect, condition: usize, against: usize, outcome: Outcome) -> Comparison {
    Comparison {
        effect,
        condition,
        against,
        blocks: 3,
        ratio: Estimate { value: 1.0, half_width: 0.0 },
        pcost: Estimate { value: 0.0, half_width: 0.0 },
        outcome,
        smallest: None,
        spans: Vec::new(),
        taken: Vec::new(),
    }
}
