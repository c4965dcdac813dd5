//! The measurements of the proof.

use std::env;

use crate::ground::{Ground, last_processor};
use netfathom_model::plan::{Benchmark, BenchmarkKind, CostPlan, Interception, MarkMeans, Subject};

pub const NOTHING: &str = "nothing";
pub const INTERCEPTION: &str = "interception";
/// Runs with a program that does nothing: at least 19 of them must find no cost.
pub const NOTHINGS: u64 = 20;

/// Burners with a known intensity: what their parts are called, and the arguments of `netfathom burn`.
pub const BURNERS: [(&str, [&str; 2]); 3] = [
    ("burner: 25 % of a CPU", ["--cpu", "25%"]),
    ("burner: 500 MB/s of memory", ["--memory", "500M/s"]),
    ("burner: 200,000 calls/s", ["--calls", "200k/s"]),
];

fn light(ground: &Ground<'_>, phases: &[&str], phase_ns: u64) -> CostPlan {
    let kind = BenchmarkKind::Light { phases: phases.iter().map(|&p| p.into()).collect(), phase_ns };
    CostPlan {
        precision: 0.005,
        least_blocks: ground.trials(5, 10),
        most_blocks: ground.trials(5, 10),
        most_ns: ground.length_ns(60.0, 120.0),
        settle_ns: 100_000_000,
        grace_ns: 2_000_000_000,
        seed: ground.plan.seed,
        ..CostPlan::alone("light", kind)
    }
}

/// Beside a program that does nothing: all that is done for a program is done, so that it shows if it takes something.
pub fn nothing(ground: &Ground<'_>, number: u64) -> CostPlan {
    CostPlan {
        subject: Subject::Command { argv: ["sleep", "100000"].map(String::from).to_vec() },
        seed: ground.plan.seed.wrapping_add(number),
        // Enough to find nothing; what it comes to is what is asked.
        precision: 0.1,
        cpu: vec![last_processor()],
        least_blocks: ground.trials(7, 12),
        most_blocks: ground.trials(35, 60),
        settle_ns: 50_000_000,
        ..light(ground, &["cpu", "calls"], 50_000_000)
    }
}

/// On one processor with a burner: what that takes, the benchmark lacks.
pub fn burnt(ground: &Ground<'_>, arguments: [&str; 2]) -> CostPlan {
    let processor = last_processor();
    let own =
        env::current_exe().map_or_else(|_| "netfathom".into(), |path| path.to_string_lossy().into_owned());
    let on = processor.to_string();
    let argv = [own.as_str(), "burn", "--on", &on].into_iter().chain(arguments).map(Into::into).collect();
    CostPlan {
        subject: Subject::Command { argv },
        cpu: vec![processor],
        program_cpu: vec![processor],
        least_blocks: ground.trials(6, 12),
        most_blocks: ground.trials(36, 48),
        precision: 0.03,
        ..light(ground, &["cpu"], 300_000_000)
    }
}

/// What the observation points of a tar take that compresses, as the paper's did: of an eighth of its tree.
pub fn interception(ground: &Ground<'_>) -> CostPlan {
    let kind = BenchmarkKind::Tar {
        gzip: true,
        entries: 12_700 / 8,
        bytes: 187_000_000 / 8,
        cold: false,
        directory: None,
        early: false,
    };
    CostPlan {
        subject: Subject::Interception { ways: vec![Interception::Tracepoints] },
        benchmarks: vec![Benchmark { name: "tar".into(), kind }],
        means: Some(MarkMeans::Tracepoints),
        precision: 0.0015,
        least_blocks: ground.trials(8, 20),
        most_blocks: ground.trials(20, 60),
        most_ns: ground.length_ns(20.0, 90.0),
        ..light(ground, &["cpu"], 50_000_000)
    }
}
