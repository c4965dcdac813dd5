//! The ruler of `netfathom cost` itself: where there is nothing it finds nothing, and what is known it finds.

use std::time::Duration;

use netfathom_model::plan::ReproducePlan;
use netfathom_model::record::{CostResult, Measured, ReproducedRun};

use super::beside::short;
use super::ground::Ground;
use super::part::Part;
use super::{Experiment, PROOF, Report};

mod claims;
mod plans;
mod tables;

pub static EXPERIMENTS: [Experiment; 1] = [Experiment {
    name: PROOF,
    title: "The ruler of netfathom cost, proved",
    source: "netfathom itself: runs with nothing, a burner of known intensity, and its own observation points",
    shows: "that nothing is found where nothing is, that a known cost is found, and what looking takes",
    quick: Duration::from_secs(120),
    full: Duration::from_secs(420),
    needs_root: true,
    taps: &[],
    parts: |ground| Ok(parts(ground)),
    tell,
}];

fn parts(ground: &Ground<'_>) -> Vec<Part> {
    let mut parts: Vec<Part> = (0..plans::NOTHINGS)
        .map(|n| Part::new(plans::NOTHING, plans::nothing(ground, n)).counted())
        .collect();
    parts.extend(plans::BURNERS.map(|(name, arguments)| Part::new(name, plans::burnt(ground, arguments))));
    parts.push(Part::new(plans::INTERCEPTION, plans::interception(ground)));
    parts
}

/// The costs of the parts of a name.
fn named<'a>(runs: &'a [ReproducedRun], name: &str) -> Vec<&'a CostResult> {
    let of_name = runs.iter().filter(|run| run.name == name);
    of_name.filter_map(|run| CostResult::of(&run.measurement)).collect()
}

fn tell(plan: &ReproducePlan, runs: &[ReproducedRun]) -> Report {
    let mut differences = vec![
        "There is no original: what stands beside the findings is known by other means, the kernel's account of the \
         burner's CPU time above all."
            .to_owned(),
    ];
    differences.extend(short(plan, "fewer blocks, so wider intervals"));
    Report {
        differences,
        tables: vec![tables::nothings(runs), tables::burners(runs), tables::interception(runs)],
        figures: vec![tables::slowdowns(runs)],
        claims: claims::all(runs),
        verdict: claims::verdict(&claims::of_ruler(runs), plan.quick),
    }
}
