//! Metrics for Prometheus: what a dashboard shows, or all that there is, a gauge a quantity and a histogram a set of times.

mod exponential;
mod family;
mod proto;
mod protobuf;
mod text;

use std::collections::BTreeMap;
use std::io::Write;

use family::{Buckets, Families, Labels, Metric, Value, metrics};
use netfathom_model::record::{Measurement, Record, WatchSocket, WatchTimes};
use netfathom_stats::{between_trials, bucket_bounds, bucket_index};
pub use text::Dialect;

use super::ExportError;
use crate::quantity::{self, Counter, Gauge, Histogram, Quantity, Unit, figures, histograms};

/// `log2` of the buckets an octave: the same bounds in every run, so that runs can be added up.
const GRAIN: u32 = 2;

/// Bounds of a run that goes on, 1 µs to 17 s.
const OCTAVES: std::ops::RangeInclusive<u32> = 10..=34;

/// Quantities in a summary: two series each, and under 200 with those of the run.
const MOST_SUMMED_UP: usize = 98;

/// Writes the main quantities, each as the mean of its trials and half the 95 % interval between them. They have no
/// labels, so that one run continues the curve of the one before. Returns what had no room.
pub fn write(out: &mut (dyn Write + Send), record: &Record) -> Result<Vec<String>, ExportError> {
    let main: Vec<Quantity> = quantity::of(&record.measurement).into_iter().filter(|q| q.main).collect();
    let mut families = about(record);
    for quantity in main.iter().take(MOST_SUMMED_UP) {
        summary(&mut families, record, quantity);
    }
    text::write(out, &families, Dialect::OpenMetrics)?;
    let left_out = main.len().saturating_sub(MOST_SUMMED_UP);
    let untold = (left_out > 0).then(|| format!("{left_out} main quantities: --all writes them too"));
    Ok(untold.into_iter().collect())
}

/// Writes every trial of every quantity, and every set of times.
pub fn write_all(out: &mut (dyn Write + Send), record: &Record) -> Result<(), ExportError> {
    let mut families = about(record);
    for quantity in quantity::of(&record.measurement) {
        gauges(&mut families, record, &quantity);
    }
    for set in histograms(&record.measurement) {
        histogram(&mut families, record, &set);
    }
    Ok(text::write(out, &families, Dialect::OpenMetrics)?)
}

/// A part of what a run that goes on saw, such as one process.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Such as `process`, and its name.
    pub label: (&'static str, &'a str),
    pub seen: &'a WatchSocket,
}

/// What a run that goes on has counted and timed so far, and by part: the same in each format.
pub struct Exposition(Families);

impl Exposition {
    pub fn text(&self, dialect: Dialect) -> String {
        let mut text = Vec::new();
        // Memory takes all of it.
        let _ = text::write(&mut text, &self.0, dialect);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Delimited messages, with native histograms.
    pub fn protobuf(&self) -> Vec<u8> {
        protobuf::encode(&self.0)
    }
}

/// A set of times has its series from its first time on, and then always the same ones, so that Prometheus can tell what
/// came between.
pub fn exposition(measurement: &Measurement, parts: &[Part<'_>]) -> Exposition {
    let mut families = Families::new();
    let version = vec![label("version", env!("CARGO_PKG_VERSION"))];
    info(&mut families, "netfathom_build_info", "The version of netfathom", version);
    if let Some(target) = figures(measurement).target() {
        let (name, target) = (name(measurement, "target_info", ""), vec![label("target", &target)]);
        info(&mut families, &name, "What is watched, as its arguments", target);
    }
    for part in parts {
        of_part(&mut families, measurement, part);
    }
    for counter in figures(measurement).counters() {
        total(&mut families, measurement, counter);
    }
    for Gauge { name: of, title, value } in figures(measurement).gauges() {
        let metric = Metric { labels: Vec::new(), value: Value::Gauge(value as f64) };
        metrics(&mut families, &name(measurement, of, ""), "", title.into()).push(metric);
    }
    for set in histograms(measurement) {
        let labels = vec![label("quantity", &set.name)];
        let help = "Time of messages by quantity: received (rx), sent (tx), in a stage of these (rx.runqueue), or of applications (application, answer)";
        grown(&mut families, &name(measurement, "times", "seconds"), help, labels, &set.times.into());
    }
    Exposition(families)
}

/// A metric that is always 1. A gauge, since Prometheus' own text format knows no type `info`.
fn info(families: &mut Families, name: &str, help: &str, labels: Labels) {
    metrics(families, name, "", help.into()).push(Metric { labels, value: Value::Gauge(1.0) });
}

/// What the run is.
fn about(record: &Record) -> Families {
    let environment = &record.environment;
    let measurement = label("measurement", record.measurement.name());
    let labels = vec![
        label("run", &record.id),
        measurement.clone(),
        label("verdict", record.verdict.level.name()),
        label("tool", &record.tool),
        label("started", &record.started_utc),
        label("host", environment.host.as_deref().unwrap_or_default()),
        label("kernel", &environment.kernel),
    ];
    let level = f64::from(record.verdict.level as u8);
    let mut families = Families::new();
    let what = "What was measured, where, and how far it can be trusted";
    info(&mut families, "netfathom_run_info", what, labels);
    let verdict = Metric { labels: vec![measurement], value: Value::Gauge(level) };
    let levels = "0 is VALID, 1 DEGRADED, 2 VOID".into();
    metrics(&mut families, "netfathom_run_verdict", "", levels).push(verdict);
    families
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
        let value = Value::Gauge(value / divisor);
        metrics(families, &name, unit, format!("{}, {title}", quantity.title))
            .push(Metric { labels: Vec::new(), value });
    };
    let trials = &quantity.trials;
    add("mean_of_trials", "mean of the trials", trials.iter().sum::<f64>() / trials.len() as f64);
    // Searches that ended on the same step do not show how far they scatter.
    if let Some(estimate) = between_trials(trials).filter(|estimate| estimate.half_width > 0.0) {
        add("half_interval", "half the 95 % interval between trials", estimate.half_width);
    }
}

fn gauges(families: &mut Families, record: &Record, quantity: &Quantity) {
    let (unit, divisor) = unit(quantity.unit);
    // Names may end as those of histograms' parts do.
    let name = name(&record.measurement, &format!("{}_value", quantity.name), unit);
    let metrics = metrics(families, &name, unit, format!("{}, by trial", quantity.title));
    for (index, value) in quantity.trials.iter().enumerate() {
        let trial = (index + 1).to_string();
        let labels =
            vec![label("run", &record.id), label("quantity", &quantity.name), label("trial", &trial)];
        metrics.push(Metric { labels, value: Value::Gauge(value / divisor) });
    }
}

fn histogram(families: &mut Families, record: &Record, set: &Histogram<'_>) {
    let name = name(&record.measurement, &format!("{}_times", set.name), "seconds");
    let help = format!("Times of {}", set.name);
    let mut labels = vec![label("run", &record.id), label("quantity", &set.name)];
    labels.extend(set.trial.map(|index| label("trial_index", &index.to_string())));
    let (bounds, count) = cumulated(set);
    // A sum that can fall is none to OpenMetrics: where there are times below zero, it has to be left out.
    let sum = (set.times.negative == 0).then(|| set.times.sum_ns as f64 / 1e9);
    let value = Value::Histogram(Buckets { bounds, count, sum, exponential: None });
    metrics(families, &name, "seconds", help).push(Metric { labels, value });
}

fn total(families: &mut Families, measurement: &Measurement, counter: Counter) {
    let (unit, divisor) = unit(counter.unit);
    let name = name(measurement, counter.name, unit);
    let value = Value::Counter(counter.value as f64 / divisor);
    metrics(families, &name, unit, counter.title.into()).push(Metric { labels: counter.labels, value });
}

fn of_part(families: &mut Families, measurement: &Measurement, part: &Part<'_>) {
    let (kind, which) = part.label;
    for (direction, way) in [("rx", &part.seen.receive), ("tx", &part.seen.send)] {
        if way.total.n == 0 {
            continue;
        }
        let labels = vec![label(kind, which), label("quantity", direction)];
        let help = format!("Time of messages by {kind}: received (rx) or sent (tx)");
        grown(families, &name(measurement, &format!("{kind}_times"), "seconds"), &help, labels, &way.total);
        let name = name(measurement, &format!("{kind}_stage"), "seconds");
        let help = format!("Time of all messages by {kind} and stage");
        metrics(families, &name, "seconds", help).extend(way.stages.iter().map(|stage| {
            let stage_name = format!("{direction}.{}", stage.stage.name());
            let value = Value::Counter(stage.sum_ns as f64 / 1e9);
            Metric { labels: vec![label(kind, which), label("stage", &stage_name)], value }
        }));
    }
}

/// Of a run that goes on: by octaves, whether they hold anything or not.
fn grown(families: &mut Families, name: &str, help: &str, labels: Labels, times: &WatchTimes) {
    let at_or_below = |octave: u32| {
        let below: u64 = 1 << octave;
        let is_within = |index: u32| bucket_bounds(index as usize, times.grain).1 <= below;
        let within: u64 = times.buckets.iter().filter(|of| is_within(of.0)).map(|of| of.1).sum();
        ((below - 1) as f64 / 1e9, times.negative + within)
    };
    let held: u64 = times.buckets.iter().map(|of| of.1).sum();
    let value = Value::Histogram(Buckets {
        bounds: OCTAVES.map(at_or_below).collect(),
        // `n` may differ, where messages came while the sums were read; Prometheus refuses such a histogram.
        count: times.negative + held,
        sum: Some(times.sum_ns as f64 / 1e9),
        exponential: Some(times.into()),
    });
    metrics(families, name, "seconds", help.into()).push(Metric { labels, value });
}

/// Upper bounds in seconds, each with all that lies at or below it, and the count of all. Times are whole nanoseconds, so
/// a bucket that ends before 1024 ns holds what is at most 1023.
fn cumulated(set: &Histogram<'_>) -> (Vec<(f64, u64)>, u64) {
    let mut coarse: BTreeMap<u64, u64> = BTreeMap::new();
    for (low, _, count) in set.buckets() {
        let (_, high) =
            bucket_bounds(bucket_index(low, GRAIN.min(set.times.grain)), GRAIN.min(set.times.grain));
        *coarse.entry(high - 1).or_default() += count;
    }
    let mut seen = set.times.negative;
    let mut bounds = Vec::from_iter((seen > 0).then_some((-1e-9, seen)));
    for (at_most_ns, count) in coarse {
        seen += count;
        bounds.push((at_most_ns as f64 / 1e9, seen));
    }
    (bounds, seen)
}

fn label(name: &'static str, value: &str) -> (&'static str, String) {
    (name, value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_that_of_its_buckets() {
        let buckets = vec![(3, 4), (400, 2)];
        let times = WatchTimes { n: 9, negative: 1, grain: 5, buckets, ..WatchTimes::default() };
        let mut families = Families::new();
        grown(&mut families, "times", "Times", vec![label("quantity", "rx")], &times);
        let Value::Histogram(of) = &families["times"].metrics[0].value else { panic!() };
        let native = of.exponential.as_ref().unwrap();
        let held = native.zero + native.buckets.values().sum::<u64>();
        assert_eq!((of.count, of.bounds.last().unwrap().1, held), (7, 7, 7));
    }
}
