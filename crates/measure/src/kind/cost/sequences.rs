//! Base sequences that were taken elsewhere: a table of the times of marks, a condition a row, the baseline first.

use std::path::Path;

use netfathom_model::plan::CostLevel;
use netfathom_model::record::{Condition, CostBenchmark, CostResult, CostTrial};
use netfathom_model::units::parse_number;

use super::summary;

/// More than any table of people has.
const MOST_ROWS: usize = 1000;
const MOST_MARKS: usize = 1000;
const LONGEST_NS: f64 = 3.2e18;
const MOST_BYTES: u64 = 16 << 20;

/// Why a table cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SequencesError {
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: std::io::Error },
    #[error(
        "{path}: {what}; expected a line of names such as `condition,t0_s,t1_s,t2_s`, then the baseline, then a \
         line a condition"
    )]
    Table { path: String, what: String },
}

/// Reads tables, a benchmark each, and tells what they say. All have the same conditions.
pub fn read(paths: &[&Path]) -> Result<CostResult, SequencesError> {
    let mut result = CostResult::default();
    for path in paths {
        let name = path.display().to_string();
        let read = |source| SequencesError::Read { path: name.clone(), source };
        let about = std::fs::metadata(path).map_err(read)?;
        if !about.is_file() || about.len() > MOST_BYTES {
            return Err(SequencesError::Table { path: name, what: "it is no file of at most 16 MB".into() });
        }
        let text = String::from_utf8_lossy(&std::fs::read(path).map_err(read)?).into_owned();
        add(&mut result, path, &text).map_err(|what| SequencesError::Table { path: name, what })?;
    }
    summary::renew(&mut result);
    Ok(result)
}

fn add(result: &mut CostResult, path: &Path, text: &str) -> Result<(), String> {
    let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let mut lines =
        text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#'));
    let (names, _) = lines.next().ok_or("it is empty")?;
    let names: Vec<&str> = cells(names);
    let unit_ns = unit_ns(&names)?;
    let mut conditions = Vec::new();
    let mut trials = Vec::new();
    for (line, number) in lines {
        let (name, trial) =
            row(line, &names, unit_ns, conditions.len()).map_err(|what| format!("line {number}: {what}"))?;
        if conditions.iter().any(|c: &Condition| c.name == name) {
            return Err(format!("line {number}: {name} is there twice"));
        }
        conditions.push(condition(&name, conditions.is_empty()));
        trials.push(trial);
        if trials.len() > MOST_ROWS {
            return Err(format!("more than {MOST_ROWS} lines"));
        }
    }
    if conditions.len() < 2 {
        return Err("no condition beside the baseline".into());
    }
    if result.conditions.is_empty() {
        (result.conditions, result.subject) = (conditions, stem.clone());
    } else if result.conditions != conditions {
        return Err("its conditions are not those of the first table".into());
    }
    result.benchmarks.push(CostBenchmark {
        name: stem,
        about: "Times of marks that were taken elsewhere, one run per condition.".into(),
        means: "a table".into(),
        marks: names[1..].iter().map(|name| mark(name).0.into()).collect(),
        trials,
        ..CostBenchmark::default()
    });
    Ok(())
}

fn cells(line: &str) -> Vec<&str> {
    line.split(',').map(|cell| cell.trim().trim_matches('"')).collect()
}

/// The unit is at the end of each name, as everywhere; seconds where none has any.
fn unit_ns(names: &[&str]) -> Result<f64, String> {
    if names.len() < 3 {
        return Err("line 1: fewer than two marks".into());
    }
    if names.len() > MOST_MARKS {
        return Err(format!("line 1: more than {MOST_MARKS} marks"));
    }
    let (_, first) = mark(names[1]);
    if names[1..].iter().any(|name| mark(name).1 != first) {
        return Err("line 1: marks in different units".into());
    }
    Ok(first)
}

/// The name of a mark, and its unit in nanoseconds.
fn mark(name: &str) -> (&str, f64) {
    let with = |(unit, ns): (&str, f64)| Some((name.strip_suffix(unit)?, ns));
    [("_s", 1e9), ("_ms", 1e6), ("_us", 1e3), ("_ns", 1.0)].into_iter().find_map(with).unwrap_or((name, 1e9))
}

/// A row: its name, and its marks as spans.
fn row(line: &str, names: &[&str], unit_ns: f64, condition: usize) -> Result<(String, CostTrial), String> {
    let cells = cells(line);
    if cells.len() != names.len() {
        return Err(format!("{} fields, where the first line has {}", cells.len(), names.len()));
    }
    let times: Vec<f64> = cells[1..].iter().map(|cell| time(cell)).collect::<Result<_, _>>()?;
    if let Some(at) = times.windows(2).position(|pair| pair[1] < pair[0]) {
        return Err(format!("{} is before {}: marks are in order of time", names[at + 2], names[at + 1]));
    }
    let spans_ns: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) * unit_ns).collect();
    let total_ns: f64 = spans_ns.iter().sum();
    if total_ns <= 0.0 {
        return Err("it takes no time at all".into());
    }
    if !total_ns.is_normal() || total_ns > LONGEST_NS {
        return Err(format!(
            "from {} to {} is no time that anything takes",
            times[0],
            times[times.len() - 1]
        ));
    }
    let index = condition as u32;
    Ok((cells[0].to_owned(), CostTrial { index, condition, spans_ns, total_ns, ..CostTrial::default() }))
}

fn time(cell: &str) -> Result<f64, String> {
    let finite = cell.parse::<f64>().ok().filter(|time| time.is_finite());
    finite.ok_or_else(|| format!("{cell:?} is no time"))
}

fn condition(name: &str, baseline: bool) -> Condition {
    let level = (!baseline).then(|| CostLevel { text: name.into(), bits_per_s: bits_per_s(name) });
    Condition { name: name.into(), program: !baseline, level, way: None, armed: true }
}

/// A load such as `800kbps` or `8Mbit/s`.
fn bits_per_s(name: &str) -> Option<f64> {
    let number = ["bps", "bit/s", "b/s"].into_iter().find_map(|unit| name.strip_suffix(unit))?;
    parse_number(number.trim()).ok()
}

#[cfg(test)]
mod tests;
