//! Reading `samples.parquet` back, only what is drawn of it.

use std::collections::BTreeMap;
use std::fs::File;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::Int64Type;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};

use crate::quantity::Sampled;

/// Rows that are decoded at once.
const BATCH_ROWS: usize = 65_536;

/// What is read of each row, in this order.
const COLUMNS: [&str; 7] = [
    "trial",
    "sequence",
    "intended_ns",
    "sent_ns",
    "net_dev_start_xmit_ns",
    "netif_receive_skb_ns",
    "received_ns",
];

type Row = [Option<i64>; COLUMNS.len()];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// When it left, or came in from another host, from the trial's start.
    pub at_ns: i64,
    /// Its stack time out.
    pub tx_ns: Option<i64>,
    /// Its stack time in.
    pub rx_ns: Option<i64>,
}

/// The messages of each trial, in the order in which they left.
pub type Trials = BTreeMap<u32, Vec<Point>>;

pub struct Stream {
    pub rows: u64,
    /// Every how manieth was taken.
    pub every: u64,
    /// Rows of these without a time to be placed by.
    pub unplaced: u64,
    pub trials: Trials,
}

/// Reads the samples of a run, at most `most` of them.
///
/// # Errors
/// Why the file cannot be read, in words: it may have been cut off or be none of ours.
pub fn stream(file: File, of: Sampled<'_>, most: u64) -> Result<Stream, String> {
    let reader = SerializedFileReader::new(file).map_err(|e| e.to_string())?;
    let rows = u64::try_from(reader.metadata().file_metadata().num_rows())
        .map_err(|_| "it has less than no rows")?;
    let places = columns(&reader)?;
    let mut gathered = Gathered::new(of, rows.div_ceil(most).max(1));
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(|e| e.to_string())?;
        read_group(&*group, &places, &mut gathered, most)?;
    }
    Ok(gathered.finish(rows, of))
}

/// Where each of [`COLUMNS`] stands in the file.
fn columns(reader: &SerializedFileReader<File>) -> Result<[usize; COLUMNS.len()], String> {
    let schema = reader.metadata().file_metadata().schema_descr();
    let mut places = [0; COLUMNS.len()];
    for (place, name) in places.iter_mut().zip(COLUMNS) {
        let found = schema.columns().iter().position(|column| column.name() == name);
        *place = found.ok_or_else(|| format!("it has no column {name}"))?;
    }
    Ok(places)
}

fn read_group(
    group: &dyn RowGroupReader,
    places: &[usize],
    gathered: &mut Gathered,
    most: u64,
) -> Result<(), String> {
    let mut readers = Vec::new();
    for (&place, name) in places.iter().zip(COLUMNS) {
        match group.get_column_reader(place).map_err(|e| e.to_string())? {
            ColumnReader::Int64ColumnReader(reader) => readers.push(reader),
            _ => return Err(format!("its column {name} holds no whole numbers")),
        }
    }
    let mut columns = vec![SampleColumn::default(); readers.len()];
    while gathered.taken < most {
        for (column, reader) in columns.iter_mut().zip(&mut readers) {
            column.fill(reader)?;
        }
        let rows = columns[0].known.len();
        if rows == 0 {
            return Ok(());
        }
        if columns.iter().any(|column| column.known.len() != rows) {
            return Err("its columns are not equally long".into());
        }
        for row in 0..rows {
            gathered.add(&std::array::from_fn(|column| columns[column].known[row]));
        }
    }
    Ok(())
}

#[derive(Clone, Default)]
struct SampleColumn {
    known: Vec<Option<i64>>,
    values: Vec<i64>,
    levels: Vec<i16>,
}

impl SampleColumn {
    fn fill(&mut self, reader: &mut ColumnReaderImpl<Int64Type>) -> Result<(), String> {
        self.known.clear();
        self.values.clear();
        self.levels.clear();
        let read = reader.read_records(BATCH_ROWS, Some(&mut self.levels), None, &mut self.values);
        let (rows, _, _) = read.map_err(|e| e.to_string())?;
        let mut values = self.values.iter().copied();
        if self.levels.is_empty() {
            self.known.extend(values.map(Some));
        } else {
            self.known.extend(self.levels.iter().map(|&level| if level > 0 { values.next() } else { None }));
        }
        if self.known.len() == rows { Ok(()) } else { Err("a column is cut off".into()) }
    }
}

/// Samples as they come in.
struct Gathered {
    /// Whether the sender's clock is another host's, so that only what came in can be placed.
    from_afar: bool,
    every: u64,
    seen: u64,
    taken: u64,
    unplaced: u64,
    trials: Trials,
    /// The first message of each trial: its number and its intended departure.
    first: BTreeMap<u32, (u64, i64)>,
}

impl Gathered {
    fn new(of: Sampled<'_>, every: u64) -> Self {
        let (trials, first) = (Trials::new(), BTreeMap::new());
        Self { from_afar: of.from_afar, every, seen: 0, taken: 0, unplaced: 0, trials, first }
    }

    fn add(&mut self, &[trial, sequence, intended, sent, left, came_in, received]: &Row) {
        self.seen += 1;
        if !(self.seen - 1).is_multiple_of(self.every) {
            return;
        }
        self.taken += 1;
        let at = if self.from_afar { came_in } else { sent };
        let trial = trial.and_then(|trial| u32::try_from(trial).ok());
        let (Some(trial), Some(at_ns)) = (trial, at.filter(|&at| at > 0)) else {
            self.unplaced += 1;
            return;
        };
        let span = |from: Option<i64>, to: Option<i64>| to?.checked_sub(from?);
        let tx_ns = if self.from_afar { None } else { span(sent, left) };
        self.trials.entry(trial).or_default().push(Point { at_ns, tx_ns, rx_ns: span(came_in, received) });
        let number = sequence.and_then(|sequence| u64::try_from(sequence).ok());
        if let (Some(number), Some(intended)) = (number, intended.filter(|&intended| intended > 0)) {
            let first = self.first.entry(trial).or_insert((number, intended));
            *first = (*first).min((number, intended));
        }
    }

    /// Places each sample from its trial's start, which the plan tells of the first one.
    fn finish(mut self, rows: u64, of: Sampled<'_>) -> Stream {
        for (trial, points) in &mut self.trials {
            points.sort_unstable_by_key(|point| point.at_ns);
            let earliest = points.first().map_or(0, |point| point.at_ns);
            let (number, intended) = self.first.get(trial).copied().unwrap_or((0, earliest));
            let by = if self.from_afar { earliest } else { intended };
            let start_ns = by.saturating_sub(of.due_ns(number));
            points.iter_mut().for_each(|point| point.at_ns = point.at_ns.saturating_sub(start_ns));
        }
        Stream { rows, every: self.every, unplaced: self.unplaced, trials: self.trials }
    }
}
