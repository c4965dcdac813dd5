//! A profile read from a table of times and rates.

use super::{MAX_DURATION_NS, MAX_RATE_PER_S, Profile, ProfileError};
use crate::units::{format_duration, parse_number};

/// The most points of a table: more than a screen or a scheduler can tell apart, and few
/// enough to be kept in the record.
pub const MAX_POINTS: usize = 10_000;
/// The shortest time between two points: below it the slope would lose its digits.
const MIN_GAP_S: f64 = 1e-6;

impl Profile {
    /// The file of `csv:FILE`; `None` of any other text. Whoever may read files reads it and
    /// gives its text to [`Profile::from_csv`].
    pub fn csv_path(text: &str) -> Option<&str> {
        text.strip_prefix("csv:").filter(|path| !path.is_empty())
    }

    /// Reads a table: two columns, time in seconds and messages a second, between which the
    /// rate runs evenly from point to point. The first line may name the columns; blank lines
    /// and lines that begin with `#` are left out. The first time becomes 0.
    ///
    /// # Errors
    /// The first line that is wrong and why, or what the whole lacks.
    pub fn from_csv(text: &str) -> Result<Self, ProfileError> {
        let mut points = Vec::new();
        let mut first_s = None;
        for (index, line) in rows(text) {
            let wrong = |why: String| ProfileError(format!("line {}: {why}", index + 1));
            if points.len() == MAX_POINTS {
                return Err(wrong(format!("a table has at most {MAX_POINTS} points: thin it out")));
            }
            let (time_s, rate_per_s) = point(line).map_err(wrong)?;
            let at_s = time_s - *first_s.get_or_insert(time_s);
            follows(points.last(), at_s).map_err(wrong)?;
            points.push((at_s, rate_per_s));
        }
        if points.len() < 2 {
            return Err(ProfileError(format!(
                "a table of {} points has no length: write at least two lines of time in seconds,rate a second",
                points.len()
            )));
        }
        Self::Table { points }.validated()
    }
}

/// The lines that carry a point, with their place in the text.
fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    // Spreadsheets begin a file with a byte order mark.
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim).enumerate();
    let mut rows = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).peekable();
    rows.next_if(|(_, line)| is_header(line));
    rows
}

/// Names in both columns: a damaged first point has a number in one of them.
fn is_header(line: &str) -> bool {
    let names = |field: &str| {
        let field = field.trim().trim_matches('"');
        field.starts_with(|c: char| c.is_alphabetic()) && number(field).is_err()
    };
    line.split_once(',').is_some_and(|(time, rate)| names(time) && names(rate))
}

fn point(line: &str) -> Result<(f64, f64), String> {
    let form = || format!("`{}` is not a time in seconds, a comma and a rate: write 2.5,20000", brief(line));
    let (time, rate) = line.split_once(',').ok_or_else(form)?;
    if rate.contains(',') {
        return Err(form());
    }
    let (time_s, rate_per_s) = (number(time.trim())?, number(rate.trim())?);
    if !(0.0..=MAX_RATE_PER_S).contains(&rate_per_s) {
        return Err(format!("a rate of {} messages a second cannot be: choose from 0 to 50M", brief(rate)));
    }
    Ok((time_s, rate_per_s))
}

/// Other programs write exponents and signs, people write multipliers: a table may have both.
fn number(field: &str) -> Result<f64, String> {
    let field = field.trim_matches('"');
    match field.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => parse_number(field).map_err(|_| format!("`{}` is not a number", brief(field))),
    }
}

fn follows(last: Option<&(f64, f64)>, at_s: f64) -> Result<(), String> {
    let Some((last_s, _)) = last else { return Ok(()) };
    if at_s <= *last_s {
        return Err("its time is not after the one before: times must rise from line to line".to_owned());
    }
    if at_s - last_s < MIN_GAP_S {
        return Err("its time is less than a microsecond after the one before".to_owned());
    }
    if at_s * 1e9 > MAX_DURATION_NS as f64 {
        return Err(format!("its time is more than {} after the first", format_duration(MAX_DURATION_NS)));
    }
    Ok(())
}

/// So much of a field as an error shows: the file may be no table at all.
fn brief(field: &str) -> String {
    const MOST: usize = 40;
    let shown: String = field.trim().chars().filter(|c| !c.is_control()).take(MOST).collect();
    if field.trim().chars().count() > MOST { format!("{shown}…") } else { shown }
}
