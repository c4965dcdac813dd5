//! What tables and figures beside the original are made of: rows, cells, lines and bars.

use netfathom_model::plan::ReproducePlan;
use netfathom_model::record::{
    BesideRow, BesideTable, Cell, Figure, FigureKind, FigurePoint, FigureSeries, Measured, ReproducedRun,
};
use netfathom_stats::{Estimate, between_trials};

/// How this machine's rows are called.
pub const HERE: &str = "here";

/// A measurement of this machine.
pub struct Ours<'a, R> {
    /// Its name among the parts, such as `path`.
    pub name: &'a str,
    pub result: &'a R,
}

/// Those of one kind.
pub fn found<R: Measured>(runs: &[ReproducedRun]) -> Vec<Ours<'_, R>> {
    let named = runs.iter().map(|run| (&run.name, R::of(&run.measurement)));
    named.filter_map(|(name, result)| Some(Ours { name, result: result? })).collect()
}

pub fn named<'a, R>(ours: &'a [Ours<'a, R>], name: &str) -> Option<&'a Ours<'a, R>> {
    ours.iter().find(|o| o.name == name)
}

/// A table; the heads of its columns are parted by `|`. An empty note is none.
pub fn beside_table(
    title: impl Into<String>,
    columns: &str,
    rows: impl IntoIterator<Item = BesideRow>,
    note: impl Into<String>,
) -> BesideTable {
    let columns: Vec<String> = columns.split('|').map(Into::into).collect();
    let rows: Vec<BesideRow> = rows.into_iter().collect();
    debug_assert!(rows.iter().all(|row| row.cells.len() == columns.len()), "{columns:?}: {rows:?}");
    let note: String = note.into();
    BesideTable { title: title.into(), columns, rows, note: (!note.is_empty()).then_some(note) }
}

/// A row of the source.
pub fn source(who: impl Into<String>, cells: Vec<Option<Cell>>) -> BesideRow {
    BesideRow { who: who.into(), here: false, cells }
}

/// A row of this machine.
pub fn own(who: impl Into<String>, cells: Vec<Option<Cell>>) -> BesideRow {
    BesideRow { who: who.into(), here: true, cells }
}

pub fn plain(value: f64) -> Cell {
    Cell { value, half_width: None, printed: None }
}

pub fn estimate(e: impl Into<Estimate>) -> Cell {
    let Estimate { value, half_width } = e.into();
    Cell { half_width: Some(half_width), ..plain(value) }
}

/// The mean of trials with its interval, or the one value that there is without an interval.
pub fn mean(values: &[f64]) -> Option<Cell> {
    between_trials(values).map(estimate).or_else(|| values.first().copied().map(plain))
}

/// A line of the source, or its bars.
pub fn theirs(name: impl Into<String>, points: Vec<FigurePoint>) -> FigureSeries {
    FigureSeries { name: name.into(), here: false, points }
}

/// A line of this machine, or its bars.
pub fn ours(name: impl Into<String>, points: Vec<FigurePoint>) -> FigureSeries {
    FigureSeries { name: name.into(), here: true, points }
}

/// Lines over two axes.
pub fn lines(title: impl Into<String>, [x, y]: [&str; 2], series: Vec<FigureSeries>) -> Figure {
    Figure { title: title.into(), x: x.into(), y: y.into(), kind: FigureKind::Lines, series }
}

/// Bars over the names of what is compared, and an axis.
pub fn bars(title: impl Into<String>, axes: [&str; 2], series: Vec<FigureSeries>) -> Figure {
    Figure { kind: FigureKind::Bars, ..lines(title, axes, series) }
}

/// A point of a line.
pub fn point(x: f64, cell: Cell) -> FigurePoint {
    FigurePoint { x, y: cell.value, half_width: cell.half_width, label: None }
}

/// A bar with what it stands for.
pub fn bar(x: f64, cell: Cell, label: impl Into<String>) -> FigurePoint {
    FigurePoint { label: Some(label.into()), ..point(x, cell) }
}

/// How the short form differs from the original.
pub fn short(plan: &ReproducePlan, how: &str) -> Option<String> {
    plan.quick.then(|| format!("The short form: {how}."))
}
