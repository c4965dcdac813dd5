//! A row a window of time.

use netfathom_model::record::{
    Load, LoadTrial, Measurement, ReproduceResult, ReverseTrial, Series, StackResult, StageOutcome,
    TransferResult, TransferStream, Trial, VariantResult,
};

use super::{Cell, Column, Kind, Table};
use crate::export::ExportError;
use crate::export::times;
use crate::quantity::{span_name, word};

const COLUMNS: [Column; 10] = [
    Column::required("measurement", Kind::Text),
    Column::required("series", Kind::Text),
    Column::required("unit", Kind::Text),
    Column::optional("trial_index", Kind::Whole),
    Column::required("start_ns", Kind::Whole),
    Column::required("end_ns", Kind::Whole),
    Column::optional("n", Kind::Whole),
    Column::optional("value", Kind::Real),
    Column::optional("min", Kind::Real),
    Column::optional("max", Kind::Real),
];
const HAS: &str = "netfathom stack, load send, reverse, join and reproduce, and of ttcp with --explain";

/// One series of one trial.
struct Curve {
    name: String,
    unit: &'static str,
    trial: Option<u32>,
    points: Vec<Point>,
}

/// One window.
#[derive(Default)]
struct Point {
    start_ns: u64,
    end_ns: u64,
    n: Option<u64>,
    value: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
}

/// What the record says over time, from the start of each trial.
pub fn table(measurement: &Measurement) -> Result<Table<'_>, ExportError> {
    let curves = of(measurement);
    if curves.is_empty() {
        return Err(ExportError::nothing("series", measurement, HAS));
    }
    let rows = curves.into_iter().flat_map(move |curve| rows(measurement.name(), &curve));
    Ok(Table { name: "series", columns: &COLUMNS, rows: Box::new(rows.map(Ok)) })
}

fn rows(measurement: &str, curve: &Curve) -> Vec<Vec<Cell>> {
    let row = |point: &Point| {
        vec![
            measurement.into(),
            curve.name.as_str().into(),
            curve.unit.into(),
            Cell::whole(curve.trial),
            Cell::whole(Some(point.start_ns)),
            Cell::whole(Some(point.end_ns)),
            Cell::whole(point.n),
            Cell::real(point.value),
            Cell::real(point.min),
            Cell::real(point.max),
        ]
    };
    curve.points.iter().map(row).collect()
}

fn of(measurement: &Measurement) -> Vec<Curve> {
    match measurement {
        Measurement::Stack(result) => of_stack(result),
        Measurement::Load(result) => result.trials.iter().flat_map(of_load_trial).collect(),
        Measurement::Reverse(result) => result.variants.iter().flat_map(of_variant).collect(),
        Measurement::Join(result) => {
            let spans = result.spans.iter().enumerate();
            spans.map(|(place, span)| times(span_name(result, place), None, &span.series)).collect()
        }
        Measurement::Reproduce(result) => of_reproduce(result),
        Measurement::Transfer(result) => of_transfer(result),
        Measurement::Capacity(_) | Measurement::Sweep(_) | Measurement::Message(_) | Measurement::Cost(_) => {
            Vec::new()
        }
    }
}

/// Means of times; a window without any has no value.
fn times(name: String, trial: Option<u32>, series: &Series) -> Curve {
    let bound = |column: &[i64], window: usize| column.get(window).map(|&ns| ns as f64);
    let point = |(window, &n): (usize, &u64)| Point {
        n: Some(n),
        value: series.mean_ns(window),
        min: bound(&series.min_ns, window).filter(|_| n > 0),
        max: bound(&series.max_ns, window).filter(|_| n > 0),
        ..window_of(series.window_ns, window)
    };
    Curve { name, unit: "ns", trial, points: series.n.iter().enumerate().map(point).collect() }
}

/// Events a second.
fn rate(name: String, trial: Option<u32>, window_ns: u64, counts: &[u64]) -> Curve {
    let seconds = window_ns as f64 / 1e9;
    let point = |(window, &n): (usize, &u64)| Point {
        n: Some(n),
        value: (window_ns > 0).then(|| n as f64 / seconds),
        ..window_of(window_ns, window)
    };
    Curve { name, unit: "per_s", trial, points: counts.iter().enumerate().map(point).collect() }
}

fn window_of(window_ns: u64, window: usize) -> Point {
    // Beyond what a clock tells, as only a foreign record says, the end of time is all that is known.
    let at = |window: usize| window_ns.saturating_mul(window as u64);
    Point { start_ns: at(window), end_ns: at(window + 1), ..Point::default() }
}

/// Departures of a trial and how late they were.
fn of_departures(prefix: &str, trial: u32, load: &Load) -> [Curve; 2] {
    let series = &load.series;
    [
        rate(format!("{prefix}rate"), Some(trial), series.window_ns, &series.n),
        times(format!("{prefix}lag"), Some(trial), series),
    ]
}

fn of_stack(result: &StackResult) -> Vec<Curve> {
    result.trials.iter().flat_map(of_stack_trial).collect()
}

fn of_stack_trial(trial: &Trial) -> Vec<Curve> {
    let kind = times::kind(trial);
    let mut curves = Vec::from(of_departures(kind, trial.index, &trial.load));
    for path in &trial.paths {
        let way = path.direction.name();
        curves.push(times(format!("{kind}{way}"), Some(trial.index), &path.series));
        for stage in &path.stages {
            if let StageOutcome::Measured { series, .. } = &stage.times {
                let name = format!("{kind}{way}.{}", stage.stage.name());
                curves.push(times(name, Some(trial.index), series));
            }
        }
    }
    curves
}

fn of_load_trial(trial: &LoadTrial) -> [Curve; 2] {
    let prefix = match trial.kind {
        netfathom_model::record::LoadTrialKind::Loaded => "",
        netfathom_model::record::LoadTrialKind::Idle => "idle.",
    };
    of_departures(prefix, trial.index, &trial.load)
}

fn of_variant(variant: &VariantResult) -> Vec<Curve> {
    let prefix = word(variant.variant.name());
    variant.trials.iter().flat_map(|trial| of_reverse_trial(&prefix, trial)).collect()
}

fn of_reverse_trial(prefix: &str, trial: &ReverseTrial) -> Vec<Curve> {
    let index = Some(trial.index);
    let mut curves = vec![
        rate(format!("{prefix}.rate"), index, trial.window_ns, &trial.outgoing),
        rate(format!("{prefix}.inbound"), index, trial.window_ns, &trial.inbound),
    ];
    curves.extend(trial.stack.iter().map(|series| times(format!("{prefix}.stack"), index, series)));
    curves
}

fn of_reproduce(result: &ReproduceResult) -> Vec<Curve> {
    let runs = result.runs.iter();
    let named = |run: &str, curve: Curve| Curve { name: format!("{}.{}", word(run), curve.name), ..curve };
    runs.flat_map(|run| of(&run.measurement).into_iter().map(|curve| named(&run.name, curve))).collect()
}

/// What was seen of each stream that was watched.
fn of_transfer(result: &TransferResult) -> Vec<Curve> {
    let watched = result.streams.iter().enumerate().filter(|(_, stream)| !stream.samples.is_empty());
    watched.flat_map(|(place, stream)| of_stream(place + 1, stream)).collect()
}

fn of_stream(number: usize, stream: &TransferStream) -> [Curve; 5] {
    // The first look may be a little before the stream's own beginning was taken.
    let first_ns = stream.samples.first().map_or(stream.began_ns, |look| look.at_ns.min(stream.began_ns));
    let mut from = (first_ns, 0);
    let spans: Vec<(u64, u64, u64)> = stream
        .samples
        .iter()
        .map(|look| {
            let (start_ns, bytes) = std::mem::replace(&mut from, (look.at_ns, look.bytes));
            (start_ns, look.at_ns, look.bytes.saturating_sub(bytes))
        })
        .collect();
    let curve = |what: &str, unit, value: &dyn Fn(usize) -> Option<f64>| Curve {
        name: format!("stream.{number}.{what}"),
        unit,
        trial: None,
        points: (spans.iter().enumerate())
            .map(|(i, &(start_ns, end_ns, _))| Point {
                start_ns,
                end_ns,
                value: value(i),
                ..Point::default()
            })
            .collect(),
    };
    let look = |i: usize| &stream.samples[i];
    [
        curve("throughput", "bytes_per_s", &|i| {
            let (start, end, bytes) = spans[i];
            (end > start).then(|| bytes as f64 * 1e9 / (end - start) as f64)
        }),
        curve("rtt", "ns", &|i| Some(f64::from(look(i).rtt_us) * 1e3)),
        curve("cwnd", "segments", &|i| Some(look(i).cwnd.into())),
        curve("queued", "bytes", &|i| Some(look(i).queued_bytes.into())),
        curve("retransmits", "count", &|i| Some(look(i).retransmits.into())),
    ]
}
