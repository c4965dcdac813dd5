//! `netfathom light`: the light benchmark by hand, or as the program that `cost` watches.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::Result;
use netfathom_measure::kind::cost::light::{Light, PHASES, Phase, START, Sizes, calibrate};
use serde_json::json;

use crate::args::LightArgs;
use crate::{exit, output, stop};

pub fn run(args: &LightArgs) -> Result<ExitCode> {
    let stop = stop::on_signals()?;
    let Some(sizes) = sizes(args, &stop)? else { return Ok(exit::USAGE.into()) };
    let runs = if args.calibrate { 0 } else { args.runs };
    let mut light = Light::prepare(&std::env::temp_dir(), &sizes)?;
    let times_ns = (0..runs).map(|_| times_ns(&mut light, &stop)).collect::<Result<Vec<_>>>()?;
    drop(light);
    output::print(&match (args.json, args.calibrate) {
        (true, _) => json(&sizes, &times_ns),
        (false, true) => sizes.to_string(),
        (false, false) => table(&sizes, &times_ns),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Those that were given, or found; `None` after saying what is wrong.
fn sizes(args: &LightArgs, stop: &AtomicBool) -> Result<Option<Sizes>> {
    if let Some(sizes) = &args.sizes {
        return Ok(Some(sizes.clone()));
    }
    let all: Vec<&'static Phase> = PHASES.iter().collect();
    let phases = if args.phases.is_empty() { all } else { args.phases.clone() };
    let listed = Sizes::new(phases.iter().map(|&phase| (phase, 1)).collect());
    if output::understood(listed.map_err(anyhow::Error::msg)).is_none() {
        return Ok(None);
    }
    Ok(Some(calibrate(&std::env::temp_dir(), &phases, args.target_ns, stop)?))
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

/// A line a phase: the median of its times and, of several, the shortest and the longest.
fn table(sizes: &Sizes, times_ns: &[Vec<u64>]) -> String {
    let several = times_ns.len() > 1;
    let head = if several { "   median  shortest   longest" } else { "     time" };
    let mut lines = vec![format!("phase     {head}  ms  work")];
    for (at, (phase, size)) in sizes.phases().iter().enumerate() {
        let mut sorted: Vec<f64> = times_ns.iter().map(|run| run[at] as f64 / 1e6).collect();
        sorted.sort_by(f64::total_cmp);
        let [.., longest] = sorted[..] else { continue };
        let range = if several { format!(" {:9.2} {longest:9.2}", sorted[0]) } else { String::new() };
        let median = sorted[sorted.len() / 2];
        lines.push(format!("{:10}{median:9.2}{range}      {size} {}", phase.name, phase.unit));
    }
    lines.push(format!("\nthe same work again: --sizes {sizes}"));
    lines.join("\n")
}
