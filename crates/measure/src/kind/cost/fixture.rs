//! Generated plans and trials for tests.

use netfathom_model::plan::{Benchmark, BenchmarkKind, CostPlan, MarkSource, Subject, WhenEnded};
use netfathom_model::record::{Comparison, CostBenchmark, CostTrial, Effect, Estimate, Outcome};

pub fn plan() -> CostPlan {
    let kind = BenchmarkKind::Command {
        command: ["sleep", "0.01"].map(Into::into).into(),
        marks: MarkSource::Emitted,
    };
    CostPlan {
        subject: Subject::Command { argv: vec!["sleep".into(), "60".into()] },
        benchmarks: vec![Benchmark { name: "sleep".into(), kind }],
        load: None,
        levels: Vec::new(),
        means: None,
        own: false,
        precision: 0.01,
        least_blocks: 3,
        most_blocks: 20,
        most_ns: 30_000_000_000,
        settle_ns: 0,
        grace_ns: 100_000_000,
        cpu: Vec::new(),
        program_cpu: Vec::new(),
        terminal: false,
        when_ended: WhenEnded::Trouble,
        controls: false,
        seed: 1,
    }
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
