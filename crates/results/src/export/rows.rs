//! Tables of a run: columns and rows, whatever they are written as.

use std::path::Path;

use netfathom_model::record::{Export, Measurement};
use netfathom_model::sample::Sample;

use super::{ExportError, Format, StoredRun, What};
use crate::quantity::{self, Better, Curve, Histogram, Point, Quantity, curves, histograms};
use crate::store::samples;

/// A table that makes its rows while they are written.
pub struct Table<'a> {
    pub name: &'static str,
    /// The columns, in order.
    pub columns: Vec<Column>,
    /// A cell a column.
    pub rows: Box<dyn Iterator<Item = Result<Vec<FieldValue>, ExportError>> + 'a>,
}

#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name, with the unit where it has one.
    pub name: &'static str,
    pub kind: FieldKind,
    pub optional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    Text,
    Whole,
    Real,
    /// Yes or no.
    Flag,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue {
    Text(String),
    Whole(i64),
    Real(f64),
    Flag(bool),
    /// Not known.
    Empty,
}

impl FieldValue {
    fn real(value: Option<f64>) -> Self {
        value.filter(|v| v.is_finite()).map_or(Self::Empty, Self::Real)
    }

    fn whole(value: Option<impl TryInto<i64>>) -> Self {
        value.and_then(|v| v.try_into().ok()).map_or(Self::Empty, Self::Whole)
    }
}

impl From<&str> for FieldValue {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl Column {
    const fn required(name: &'static str, kind: FieldKind) -> Self {
        Self { name, kind, optional: false }
    }

    const fn optional(name: &'static str, kind: FieldKind) -> Self {
        Self { name, kind, optional: true }
    }
}

/// The table that was asked for.
pub fn table(run: &StoredRun, what: What, format: Format) -> Result<Table<'_>, ExportError> {
    let measurement = &run.record.measurement;
    match what {
        What::Trials => of_trials(measurement),
        What::Series => of_series(measurement),
        What::Histograms => of_histograms(measurement),
        What::Samples => of_samples(samples_file(run, format)?),
    }
}

/// Where the single messages of a run stand.
pub fn samples_file(run: &StoredRun, format: Format) -> Result<&Path, ExportError> {
    let missing = |why: &str| ExportError::Empty { wanted: wanted(format), why: why.into() };
    let file = run
        .samples
        .as_deref()
        .ok_or_else(|| missing("single messages stand beside the record; name the run's directory"))?;
    if !file.exists() {
        return Err(missing(&format!(
            "there is no {}; {} keeps the times of single messages",
            file.display(),
            Export::Samples.commands()
        )));
    }
    Ok(file)
}

fn wanted(format: Format) -> String {
    if format.is_table() { format!("{} of samples", format.name()) } else { format.name().into() }
}

const TRIAL_COLUMNS: [Column; 8] = [
    Column::required("measurement", FieldKind::Text),
    Column::required("quantity", FieldKind::Text),
    Column::required("title", FieldKind::Text),
    Column::required("unit", FieldKind::Text),
    Column::required("better", FieldKind::Text),
    Column::required("main", FieldKind::Flag),
    Column::required("trial", FieldKind::Whole),
    Column::required("value", FieldKind::Real),
];

/// All that the measurement says. Trials are counted from 1 among those that count for the quantity.
fn of_trials(measurement: &Measurement) -> Result<Table<'_>, ExportError> {
    let quantities = quantity::of(measurement);
    if quantities.is_empty() {
        let why = "not one trial of it came to an end that counts".into();
        return Err(ExportError::Empty { wanted: "a table of trials".into(), why });
    }
    let rows = quantities.into_iter().flat_map(move |quantity| trial_rows(measurement.name(), &quantity));
    Ok(Table { name: "trials", columns: TRIAL_COLUMNS.into(), rows: Box::new(rows.map(Ok)) })
}

fn trial_rows(measurement: &str, quantity: &Quantity) -> Vec<Vec<FieldValue>> {
    let row = |(trial, &value): (usize, &f64)| {
        vec![
            measurement.into(),
            quantity.name.as_str().into(),
            quantity.title.as_str().into(),
            quantity.unit.short().into(),
            if quantity.better == Better::Less { "less" } else { "more" }.into(),
            FieldValue::Flag(quantity.main),
            FieldValue::Whole(trial as i64 + 1),
            FieldValue::Real(value),
        ]
    };
    quantity.trials.iter().enumerate().map(row).collect()
}

const SERIES_COLUMNS: [Column; 10] = [
    Column::required("measurement", FieldKind::Text),
    Column::required("series", FieldKind::Text),
    Column::required("unit", FieldKind::Text),
    Column::optional("trial_index", FieldKind::Whole),
    Column::required("start_ns", FieldKind::Whole),
    Column::required("end_ns", FieldKind::Whole),
    Column::optional("n", FieldKind::Whole),
    Column::optional("value", FieldKind::Real),
    Column::optional("min", FieldKind::Real),
    Column::optional("max", FieldKind::Real),
];

/// What the record says over time, from the start of each trial.
fn of_series(measurement: &Measurement) -> Result<Table<'_>, ExportError> {
    let curves = curves(measurement);
    if curves.is_empty() {
        return Err(ExportError::nothing("series", measurement, Export::Series));
    }
    let rows = curves.into_iter().flat_map(move |curve| window_rows(measurement.name(), &curve));
    Ok(Table { name: "series", columns: SERIES_COLUMNS.into(), rows: Box::new(rows.map(Ok)) })
}

fn window_rows(measurement: &str, curve: &Curve) -> Vec<Vec<FieldValue>> {
    let row = |point: &Point| {
        vec![
            measurement.into(),
            curve.name.as_str().into(),
            curve.unit.into(),
            FieldValue::whole(curve.trial),
            FieldValue::whole(Some(point.start_ns)),
            FieldValue::whole(Some(point.end_ns)),
            FieldValue::whole(point.n),
            FieldValue::real(point.value),
            FieldValue::real(point.min),
            FieldValue::real(point.max),
        ]
    };
    curve.points.iter().map(row).collect()
}

const HISTOGRAM_COLUMNS: [Column; 6] = [
    Column::required("measurement", FieldKind::Text),
    Column::required("histogram", FieldKind::Text),
    Column::optional("trial_index", FieldKind::Whole),
    Column::optional("low_ns", FieldKind::Whole),
    Column::required("high_ns", FieldKind::Whole),
    Column::required("count", FieldKind::Whole),
];

/// The buckets that hold anything; those below zero share a row that has no lower end.
fn of_histograms(measurement: &Measurement) -> Result<Table<'_>, ExportError> {
    let sets = histograms(measurement);
    if sets.is_empty() {
        return Err(ExportError::nothing("histograms", measurement, Export::Histograms));
    }
    let rows = sets.into_iter().flat_map(move |set| bucket_rows(measurement.name(), &set));
    Ok(Table { name: "histograms", columns: HISTOGRAM_COLUMNS.into(), rows: Box::new(rows.map(Ok)) })
}

fn bucket_rows(measurement: &str, set: &Histogram<'_>) -> Vec<Vec<FieldValue>> {
    let row = |low: Option<u64>, high: u64, count: u64| {
        vec![
            measurement.into(),
            set.name.as_str().into(),
            FieldValue::whole(set.trial),
            FieldValue::whole(low),
            FieldValue::whole(Some(high)),
            FieldValue::whole(Some(count)),
        ]
    };
    let negative = (set.times.negative > 0).then(|| row(None, 0, set.times.negative));
    let buckets = set.buckets().map(|(low, high, count)| row(Some(low), high, count));
    negative.into_iter().chain(buckets).collect()
}

/// The messages of a file, read as they are written.
fn of_samples(file: &Path) -> Result<Table<'static>, ExportError> {
    let rows = samples::rows(file)?.map(|sample| Ok(sample_row(&sample?)));
    let column = |field: &samples::Field| Column {
        name: field.name,
        kind: FieldKind::Whole,
        optional: field.optional,
    };
    Ok(Table { name: "samples", columns: samples::FIELDS.iter().map(column).collect(), rows: Box::new(rows) })
}

fn sample_row(sample: &Sample) -> Vec<FieldValue> {
    samples::FIELDS.iter().map(|field| FieldValue::whole((field.get)(sample))).collect()
}
