//! Tables of a run: columns and rows, whatever they are written as.

mod histograms;
mod samples;
mod series;
mod trials;

use std::path::Path;

use netfathom_model::record::Export;

use super::{ExportError, Format, StoredRun, What};

/// A table that makes its rows while they are written.
pub struct Table<'a> {
    pub name: &'static str,
    /// The columns, in order.
    pub columns: &'static [Column],
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
pub fn of(run: &StoredRun, what: What, format: Format) -> Result<Table<'_>, ExportError> {
    let measurement = &run.record.measurement;
    match what {
        What::Trials => trials::table(measurement),
        What::Series => series::table(measurement),
        What::Histograms => histograms::table(measurement),
        What::Samples => samples::table(samples_file(run, format)?),
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
