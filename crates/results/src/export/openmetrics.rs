//! OpenMetrics text 1.0: what a dashboard shows, or all that there is, a gauge a quantity and a histogram a set of times.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use netfathom_model::record::{Distribution, Measurement, Record, WatchSocket, WatchTimes};
use netfathom_stats::{between_trials, bucket_bounds, bucket_index};

use super::ExportError;
use crate::quantity::{self, Counter, Histogram, Quantity, Unit, histograms};

/// `log2` of the buckets an octave: the same bounds in every run, so that runs can be added up.
const GRAIN: u32 = 2;

/// Bounds of a run that goes on, 1 µs to 17 s.
const OCTAVES: std::ops::RangeInclusive<u32> = 10..=34;

/// Quantities in a summary: two series each, and under 200 with those of the run.
const MOST_SUMMED_UP: usize = 98;

struct Family {
    kind: &'static str,
    unit: &'static str,
    help: String,
    lines: String,
}

type Families = BTreeMap<String, Family>;

/// The lines of a family, which is begun where there is none of that name.
fn lines<'a>(
    families: &'a mut Families,
    name: &str,
    (kind, unit): (&'static str, &'static str),
    help: String,
) -> &'a mut String {
    let begun = || Family { kind, unit, help, lines: String::new() };
    &mut families.entry(name.to_owned()).or_insert_with(begun).lines
}

/// Writes the main quantities, each as the mean of its trials and half the 95 % interval between them. They have no
/// labels, so that one run continues the curve of the one before. Returns what had no room.
pub fn write(out: &mut (dyn Write + Send), record: &Record) -> Result<Vec<String>, ExportError> {
    let main: Vec<Quantity> = quantity::of(&record.measurement).into_iter().filter(|q| q.main).collect();
    let mut families = BTreeMap::new();
    for quantity in main.iter().take(MOST_SUMMED_UP) {
        summary(&mut families, record, quantity);
    }
    finish(out, record, &families)?;
    let left_out = main.len().saturating_sub(MOST_SUMMED_UP);
    Ok((left_out > 0)
        .then(|| format!("{left_out} main quantities: --all writes them too"))
        .into_iter()
        .collect())
}

/// Writes every trial of every quantity, and every set of times.
pub fn write_all(out: &mut (dyn Write + Send), record: &Record) -> Result<(), ExportError> {
    let mut families = BTreeMap::new();
    let run = label("run", &record.id);
    for quantity in quantity::of(&record.measurement) {
        gauge(&mut families, record, &run, &quantity);
    }
    for set in histograms(&record.measurement) {
        histogram(&mut families, record, &run, &set);
    }
    finish(out, record, &families)
}

/// A part of what a run that goes on saw, such as one process.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Such as `process`, and its name.
    pub label: (&'static str, &'a str),
    pub seen: &'a WatchSocket,
}

/// What a run that goes on has counted and timed so far, and by part. A set of times has its series from its first time on,
/// and then always the same ones, so that Prometheus can tell what came between.
pub fn exposition(measurement: &Measurement, parts: &[Part<'_>]) -> String {
    let mut families = BTreeMap::new();
    for part in parts {
        of_part(&mut families, measurement, part);
    }
    for counter in quantity::counters(measurement) {
        total(&mut families, measurement, &counter);
    }
    for set in histograms(measurement) {
        let labels = label("quantity", &set.name);
        grown(&mut families, &name(measurement, "times", "seconds"), &labels, &set.times.into());
    }
    let mut out = Vec::new();
    // Memory takes all of it.
    let _ = write_families(&mut out, &families);
    String::from_utf8_lossy(&out).into_owned()
}

fn finish(out: &mut (dyn Write + Send), record: &Record, families: &Families) -> Result<(), ExportError> {
    out.write_all(about(record).as_bytes())?;
    Ok(write_families(out, families)?)
}

fn write_families(out: &mut (dyn Write + Send), families: &Families) -> io::Result<()> {
    for (name, family) in families {
        writeln!(out, "# TYPE {name} {}", family.kind)?;
        if !family.unit.is_empty() {
            writeln!(out, "# UNIT {name} {}", family.unit)?;
        }
        write!(out, "# HELP {name} {}\n{}", escaped(&family.help), family.lines)?;
    }
    out.write_all(b"# EOF\n")
}

/// What the run is, as a metric that is always 1. A gauge, since Prometheus' own text format knows no type `info`.
fn about(record: &Record) -> String {
    let host = record.environment.host.as_deref().unwrap_or_default();
    let labels = [
        label("run", &record.id),
        label("measurement", record.measurement.name()),
        label("verdict", record.verdict.level.name()),
        label("tool", &record.tool),
        label("started", &record.started_utc),
        label("host", host),
        label("kernel", &record.environment.kernel),
    ];
    let level = record.verdict.level as u8;
    format!(
        "# TYPE netfathom_run_info gauge\n# HELP netfathom_run_info What was measured, where, and how far it can be trusted.\nnetfathom_run_info{{{}}} 1\n\
         # TYPE netfathom_run_verdict gauge\n# HELP netfathom_run_verdict 0 is VALID, 1 DEGRADED, 2 VOID.\nnetfathom_run_verdict{{{}}} {level}\n",
        labels.join(","),
        labels[1]
    )
}

/// `netfathom_stack_tx_mean_seconds`; the unit last, as OpenMetrics wants it.
fn name(measurement: &Measurement, of: &str, unit: &str) -> String {
    let plain: String =
        of.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    let unit = if unit.is_empty() { String::new() } else { format!("_{unit}") };
    format!("netfathom_{}_{plain}{unit}", measurement.name())
}

/// The unit's name, and what values are divided by: OpenMetrics knows base units only.
fn unit(unit: Unit) -> (&'static str, f64) {
    match unit {
        Unit::Nanoseconds => ("seconds", 1e9),
        Unit::PerSecond => ("per_second", 1.0),
        Unit::BytesPerSecond => ("bytes_per_second", 1.0),
        Unit::Share | Unit::Ratio => ("ratio", 1.0),
        Unit::Count => ("", 1.0),
    }
}

fn summary(families: &mut Families, record: &Record, quantity: &Quantity) {
    let (unit, divisor) = unit(quantity.unit);
    let mut add = |what: &str, title: &str, value: f64| {
        let name = name(&record.measurement, &format!("{}_{what}", quantity.name), unit);
        let lines = lines(families, &name, ("gauge", unit), format!("{}, {title}.", quantity.title));
        let _ = writeln!(lines, "{name} {}", value / divisor);
    };
    let trials = &quantity.trials;
    add("mean_of_trials", "mean of the trials", trials.iter().sum::<f64>() / trials.len() as f64);
    // Searches that ended on the same step do not show how far they scatter.
    if let Some(estimate) = between_trials(trials).filter(|estimate| estimate.half_width > 0.0) {
        add("half_interval", "half the 95 % interval between trials", estimate.half_width);
    }
}

fn gauge(families: &mut Families, record: &Record, run: &str, quantity: &Quantity) {
    let (unit, divisor) = unit(quantity.unit);
    // Names may end as those of histograms' parts do.
    let name = name(&record.measurement, &format!("{}_value", quantity.name), unit);
    let lines = lines(families, &name, ("gauge", unit), format!("{}, by trial.", quantity.title));
    let what = label("quantity", &quantity.name);
    for (trial, value) in quantity.trials.iter().enumerate() {
        let _ = writeln!(lines, "{name}{{{run},{what},trial=\"{}\"}} {}", trial + 1, value / divisor);
    }
}

fn histogram(families: &mut Families, record: &Record, run: &str, set: &Histogram<'_>) {
    let name = name(&record.measurement, &format!("{}_times", set.name), "seconds");
    let help = format!("{}: how long it took.", set.name);
    let lines = lines(families, &name, ("histogram", "seconds"), help);
    let trial = set.trial.map_or(String::new(), |index| format!(",trial_index=\"{index}\""));
    let labels = format!("{run},{}{trial}", label("quantity", &set.name));
    for (bound, count) in cumulated(set) {
        let _ = writeln!(lines, "{name}_bucket{{{labels},le=\"{bound}\"}} {count}");
    }
    let times: &Distribution = set.times;
    // A sum that can fall is none to OpenMetrics: where there are times below zero, it has to be left out.
    if times.negative == 0 {
        let _ = writeln!(lines, "{name}_count{{{labels}}} {}", times.n);
        let _ = writeln!(lines, "{name}_sum{{{labels}}} {}", times.sum_ns as f64 / 1e9);
    }
}

/// A counter; OpenMetrics gives its samples, and not the family, `_total`.
fn total(families: &mut Families, measurement: &Measurement, counter: &Counter) {
    let (unit, divisor) = unit(counter.unit);
    let name = name(measurement, counter.name, unit);
    let lines = lines(families, &name, ("counter", unit), format!("{}.", counter.title));
    let labels: Vec<String> = counter.labels.iter().map(|(name, value)| label(name, value)).collect();
    let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    let _ = writeln!(lines, "{name}_total{labels} {}", counter.value as f64 / divisor);
}

fn of_part(families: &mut Families, measurement: &Measurement, part: &Part<'_>) {
    let (kind, which) = part.label;
    for (direction, way) in [("rx", &part.seen.receive), ("tx", &part.seen.send)] {
        if way.total.n == 0 {
            continue;
        }
        let labels = format!("{},{}", label(kind, which), label("quantity", direction));
        grown(families, &name(measurement, &format!("{kind}_times"), "seconds"), &labels, &way.total);
        let name = name(measurement, &format!("{kind}_stage"), "seconds");
        let help = "The time of all messages in a stage.".into();
        let lines = lines(families, &name, ("counter", "seconds"), help);
        for stage in &way.stages {
            let labels = format!(
                "{},{}",
                label(kind, which),
                label("stage", &format!("{direction}.{}", stage.stage.name()))
            );
            let _ = writeln!(lines, "{name}_total{{{labels}}} {}", stage.sum_ns as f64 / 1e9);
        }
    }
}

/// Of a run that goes on: by octaves, whether they hold anything or not.
fn grown(families: &mut Families, name: &str, labels: &str, times: &WatchTimes) {
    let help = "How long it took, by what it is the time of.".into();
    let lines = lines(families, name, ("histogram", "seconds"), help);
    for octave in OCTAVES {
        let below: u64 = 1 << octave;
        let is_within = |index: u32| bucket_bounds(index as usize, times.grain).1 <= below;
        let within: u64 = times.buckets.iter().filter(|of| is_within(of.0)).map(|of| of.1).sum();
        let bound = (below - 1) as f64 / 1e9;
        let _ = writeln!(lines, "{name}_bucket{{{labels},le=\"{bound}\"}} {}", times.negative + within);
    }
    let _ = writeln!(lines, "{name}_bucket{{{labels},le=\"+Inf\"}} {}", times.n);
    let _ = writeln!(lines, "{name}_count{{{labels}}} {}", times.n);
    let _ = writeln!(lines, "{name}_sum{{{labels}}} {}", times.sum_ns as f64 / 1e9);
}

/// Upper bounds in seconds, each with all that lies at or below it. Times are whole nanoseconds, so a bucket
/// that ends before 1024 ns holds what is at most 1023.
fn cumulated(set: &Histogram<'_>) -> Vec<(String, u64)> {
    let mut coarse: BTreeMap<u64, u64> = BTreeMap::new();
    for (low, _, count) in set.buckets() {
        let (_, high) =
            bucket_bounds(bucket_index(low, GRAIN.min(set.times.grain)), GRAIN.min(set.times.grain));
        *coarse.entry(high - 1).or_default() += count;
    }
    let mut seen = set.times.negative;
    let below = (seen > 0).then(|| ("-1e-9".to_owned(), seen));
    let mut bounds: Vec<_> = below.into_iter().collect();
    for (at_most_ns, count) in coarse {
        seen += count;
        bounds.push((format!("{}", at_most_ns as f64 / 1e9), seen));
    }
    bounds.push(("+Inf".into(), seen));
    bounds
}

fn label(name: &str, value: &str) -> String {
    format!("{name}=\"{}\"", escaped(value))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
