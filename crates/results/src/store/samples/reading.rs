//! Reading `samples.parquet` back.

use std::iter;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};

use netfathom_model::sample::Sample;
use netfathom_sys::directory::Directory;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field as Value, Row};

use super::{FIELDS, Field};

#[derive(Debug, thiserror::Error)]
#[error("cannot read {path}: {why}; the record beside it is whole without it", path = .path.display())]
pub struct SamplesError {
    path: PathBuf,
    why: String,
}

pub fn read(path: &Path) -> Result<Vec<Sample>, SamplesError> {
    rows(path)?.collect()
}

/// The rows of a `samples.parquet`, one after the other: they need not fit the memory.
pub fn rows(path: &Path) -> Result<impl Iterator<Item = Result<Sample, SamplesError>> + use<>, SamplesError> {
    let path = path.to_owned();
    let refused = |why: String| SamplesError { path: path.clone(), why };
    // A pipe would be waited for, and a link may lead anywhere.
    let directory = Directory::open(path.parent().unwrap_or(Path::new("")));
    let file = directory.and_then(|run| run.plain_file(path.file_name().unwrap_or_default()));
    let file = file.map_err(|e| refused(e.to_string()))?;
    let reader = SerializedFileReader::new(file).map_err(|e| refused(reason(&e)))?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let known = |name: &str| schema.columns().iter().any(|column| column.name() == name);
    if let Some(Field { name, .. }) = FIELDS.iter().find(|field| !field.optional && !known(field.name)) {
        return Err(refused(format!("it has no column {name}, so it is none of netfathom's samples")));
    }
    let of = path.clone();
    let rows = reader.into_iter().map(move |row| {
        row.map(|row| sample(&row)).map_err(|e| SamplesError { path: of.clone(), why: reason(&e) })
    });
    let why = "it is damaged: the reader of Parquet gave up on it";
    Ok(caught(rows, move || Err(SamplesError { path: path.clone(), why: why.into() })))
}

/// The same until one panics, and then, last, what stands for that: parquet 60.1 panics on some damaged pages.
fn caught<T>(rows: impl Iterator<Item = T>, panicked: impl Fn() -> T) -> impl Iterator<Item = T> {
    let mut rows = Some(rows);
    iter::from_fn(move || {
        let mut left = rows.take()?;
        // They are not read again after a panic.
        match panic::catch_unwind(AssertUnwindSafe(|| left.next())) {
            Ok(next) => {
                rows = Some(left);
                next
            }
            Err(_) => Some(panicked()),
        }
    })
}

fn reason(error: &ParquetError) -> String {
    match error {
        ParquetError::General(why) | ParquetError::EOF(why) => format!("it is damaged or no Parquet: {why}"),
        other => other.to_string(),
    }
}

/// Columns by name: a later netfathom may have more of them.
fn sample(row: &Row) -> Sample {
    let mut sample = Sample::default();
    for (name, value) in row.get_column_iter() {
        let value = if let Value::Long(value) = value { Some(*value as u64) } else { None };
        if let Some(field) = FIELDS.iter().find(|field| field.name == name) {
            (field.set)(&mut sample, value);
        }
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::caught;

    #[test]
    fn a_reader_that_panics_ends_with_an_error() {
        let rows = (0..5).map(|n| if n == 2 { panic!("damaged") } else { Ok(n) });
        assert_eq!(caught(rows, || Err("gave up")).collect::<Vec<_>>(), [Ok(0), Ok(1), Err("gave up")]);
        assert_eq!(caught(0..2, || 9).collect::<Vec<_>>(), [0, 1]);
    }
}
