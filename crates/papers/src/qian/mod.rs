//! Qian & Wang 2006: base sequences. What tcpdump takes from a tar as the network's load rises, what a make takes
//! from it, and what interception itself takes.

use std::time::Duration;

use netfathom_model::plan::{PlanError, Project, ReproducePlan};
use netfathom_model::record::BesideTable;

use super::part::Part;
use super::{Experiment, Report};

mod claims;
mod differences;
mod figures;
mod intercept;
mod originals;
mod ours;
mod plans;
mod projects;
mod steps;
mod tables;
mod times;

use ours::Ours;

const MAKE: &str = "qian-make";

const TCPDUMP: Experiment = Experiment {
    name: "qian-tcpdump",
    title: "What tcpdump takes from a tar as the network's load rises",
    source: "Qian & Wang 2006, method for evaluating real performance costs of applications",
    shows: "the slowdown and PCost of a tar beside `tcpdump -eX -s0` under five loads of UDP and none",
    quick: Duration::from_secs(100),
    full: Duration::from_secs(5400),
    needs_root: true,
    taps: &[],
    parts: |ground| Ok(vec![Part::new(plans::TCPDUMP, plans::tcpdump(ground))]),
    tell: |plan, runs| tell(plan, Ours::of(runs).as_ref(), &originals::TCPDUMP),
};

pub static EXPERIMENTS: [Experiment; 3] = [
    TCPDUMP,
    Experiment {
        name: MAKE,
        title: "What a make takes from a tar as the project grows",
        shows: "the slowdown and PCost of a tar beside make on four C projects of rising size; --projects DIR takes real ones",
        full: Duration::from_secs(1200),
        needs_root: false,
        parts: |ground| Ok(vec![Part::new(plans::MAKE, plans::make(ground))]),
        tell: |plan, runs| tell(plan, Ours::of(runs).as_ref(), &originals::MAKE),
        ..TCPDUMP
    },
    Experiment {
        name: "qian-intercept",
        title: "What interception itself takes",
        shows: "a tar with its system calls intercepted by netfathom, strace, perf trace and bpftrace, beside a plain one",
        quick: Duration::from_secs(60),
        full: Duration::from_secs(1620),
        parts: |ground| Ok(vec![Part::new(plans::INTERCEPT, plans::intercept(ground))]),
        tell: intercept::tell,
        ..TCPDUMP
    },
];

fn tell(plan: &ReproducePlan, ours: Option<&Ours<'_>>, original: &originals::Original) -> Report {
    let of_tcpdump = original.who == originals::TCPDUMP.who;
    let tables: Vec<BesideTable> = [tables::costs(original, ours)]
        .into_iter()
        .chain(of_tcpdump.then(|| times::table(ours)))
        .chain([tables::sequences(original, ours)])
        .collect();
    let mut claims = claims::all(original, ours);
    if of_tcpdump {
        claims.extend([times::claims(ours), steps::claims(ours)].concat());
    }
    Report {
        differences: differences::of(plan, original, ours),
        tables,
        figures: figures::all(original, ours),
        claims,
        ..Report::default()
    }
}

/// Checks that only make is to build projects, as many as it needs.
pub fn accepts(name: &str, projects: Option<&[Project]>) -> Result<(), PlanError> {
    let needed = originals::MAKE.levels.len();
    match projects {
        Some(_) if name != MAKE => {
            Err(PlanError(format!("--projects: {name} builds none; only {MAKE} does")))
        }
        Some(projects) if projects.len() != needed => Err(PlanError(format!(
            "--projects: it has {} directories with a Makefile, and {MAKE} needs {needed}",
            projects.len()
        ))),
        _ => Ok(()),
    }
}
