//! `netfathom light`: the light benchmark by hand, or as the program that `cost` watches.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::Result;
use netfathom_measure::kind::cost::light::{Light, PHASES, Phase, START, Sizes, calibrate};
use netfathom_model::print;
use netfathom_results::page::{Page, Style, Table};
use serde_json::json;

use crate::args::LightArgs;
use crate::{output, stop};

pub fn run(args: &LightArgs) -> Result<ExitCode> {
    let stop = stop::on_signals()?;
    let sizes = sizes(args, &stop)?;
    let runs = if args.calibrate { 0 } else { args.runs };
    let mut light = Light::prepare(&std::env::temp_dir(), &sizes)?;
    let times_ns = (0..runs).map(|_| times_ns(&mut light, &stop)).collect::<Result<Vec<_>>>()?;
    drop(light);
    match (args.json, args.calibrate) {
        (true, _) => output::print(&json(&sizes, &times_ns))?,
        (false, true) => output::print(&sizes.to_string())?,
        (false, false) => {
            output::page(&page(&sizes, &times_ns), true)?;
            output::print(&format!("\nthe same work again: --sizes {sizes}"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Those that were given, or found.
fn sizes(args: &LightArgs, stop: &AtomicBool) -> Result<Sizes> {
    if let Some(sizes) = &args.sizes {
        return Ok(sizes.clone());
    }
    let all: Vec<&'static Phase> = PHASES.iter().collect();
    let phases = if args.phases.is_empty() { all } else { args.phases.clone() };
    let listed = Sizes::new(phases.iter().map(|&phase| (phase, 1)).collect());
    output::understood(listed.map_err(anyhow::Error::msg))?;
    Ok(calibrate(&std::env::temp_dir(), &phases, args.target_ns, stop)?)
}

/// What each phase took in one run, in nanoseconds.
fn times_ns(light: &mut Light, stop: &AtomicBool) -> Result<Vec<u64>> {
    let mut times_ns = Vec::new();
    let mut last = Instant::now();
    light.run(stop, &mut |mark| {
        // For `cost`, which listens.
        netfathom_mark::mark(mark);
        let now = Instant::now();
        if mark != START {
            times_ns.push((now - last).as_nanos() as u64);
        }
        last = now;
    })?;
    Ok(times_ns)
}

fn json(sizes: &Sizes, times_ns: &[Vec<u64>]) -> String {
    let phases = sizes.phases().iter().enumerate().map(|(at, (phase, size))| {
        let times_ns: Vec<u64> = times_ns.iter().map(|run| run[at]).collect();
        json!({
            "phase": phase.name, "resource": phase.resource, "size": size, "unit": phase.unit,
            "constant_ns": size * phase.constant_ns, "times_ns": times_ns,
        })
    });
    json!({ "sizes": sizes.to_string(), "phases": phases.collect::<Vec<_>>() }).to_string()
}

/// How long a run took, and each phase: the median of its times and, of several, the shortest and the longest.
fn page(sizes: &Sizes, times_ns: &[Vec<u64>]) -> Page {
    let of_run = |run: &Vec<u64>| run.iter().sum::<u64>();
    let [median, ..] = middle_and_ends(times_ns.iter().map(of_run).collect());
    let runs =
        if times_ns.len() > 1 { format!(" (median of {} runs)", times_ns.len()) } else { String::new() };
    let mut page = Page::default();
    page.labelled(
        Style::Strong,
        "->",
        &format!("{} of fixed work in {median}{runs}", print::counted(sizes.phases().len(), "phase")),
    );
    page.gap();
    let several = times_ns.len() > 1;
    let heads = if several { &["median", "shortest", "longest"][..] } else { &["time"][..] };
    let mut table = Table::of("<phase").figures(heads).figures(["work"]).words([""]);
    for (at, (phase, size)) in sizes.phases().iter().enumerate() {
        let times = middle_and_ends(times_ns.iter().map(|run| run[at]).collect());
        let mut cells = vec![phase.name.to_owned()];
        cells.extend(times.into_iter().take(heads.len()));
        cells.extend([print::count(*size), phase.unit.to_owned()]);
        table.row(cells);
    }
    page.table(table);
    page
}

/// The median, the shortest and the longest of the times of one thing; there is at least one.
fn middle_and_ends(mut times_ns: Vec<u64>) -> [String; 3] {
    times_ns.sort_unstable();
    [times_ns[times_ns.len() / 2], times_ns[0], times_ns[times_ns.len() - 1]].map(|ns| print::time(ns as f64))
}
