//! Snader, "Effective TCP/IP Programming": one transfer with ttcp, once with the send buffer that
//! the system chooses and once with one that holds a single segment.

use std::time::Duration;

use netfathom_model::plan::ReproducePlan;
use netfathom_model::record::ReproducedRun;

use super::{Experiment, Report, beside};

mod claims;
mod differences;
mod figures;
mod originals;
mod ours;
mod plans;
mod tables;

pub static EXPERIMENTS: [Experiment; 1] = [Experiment {
    name: "ttcp-sndbuf",
    title: "A transfer with a send buffer of one segment",
    source: "Snader, Effective TCP/IP Programming, the tip on ttcp (figures 4.11 and 4.12)",
    shows: "what a send buffer that is smaller than a write does to a transfer, and where today's kernel stalls",
    quick: Duration::from_secs(75),
    full: Duration::from_secs(600),
    needs_root: false,
    taps: &[],
    parts: |ground| Ok(plans::parts(ground)),
    tell,
}];

fn tell(plan: &ReproducePlan, runs: &[ReproducedRun]) -> Report {
    let ours = beside::found(runs);
    Report {
        differences: differences::of(plan, &ours),
        tables: [vec![tables::transfers(&ours), tables::held_up(&ours)], tables::over_path(&ours)].concat(),
        figures: [figures::over_buffer(&ours), figures::slower(&ours)].into_iter().flatten().collect(),
        claims: claims::all(&ours),
        ..Report::default()
    }
}
