//! How much a record may hold: numbers that can be added up, and bytes that fit into memory.
//!
//! Whoever draws, compares or exports a record adds counts of it, and takes times from each other. With these bounds,
//! kept by all records that netfathom writes, no sum of one field's counts and no difference of two times leaves its
//! type, and nobody who adds has to ask.

use std::collections::BTreeMap;
use std::io::{self, Read};

use netfathom_model::record::Record;
use serde_json::{Number, Value};

/// What a record may take in bytes. They are far below it: none grows with the number of messages.
pub const MOST_RECORD_BYTES: u64 = 256 << 20;

/// What a count may be: beyond it readers of JSON do not keep whole numbers (RFC 8259, section 6).
const MOST_COUNT: u64 = 1 << 53;
/// What the counts of one name may be together in a record: those of a hundred records still add up.
const MOST_TOGETHER: u128 = 1 << 56;
/// What a time may be in nanoseconds, either way: 146 years, more than any clock tells, and half of what an `i64` holds.
const MOST_NS: u64 = (1 << 62) - 1;
/// Any number: they are never added up, or only so that they may be of any size.
const OF_ANY_SIZE: [&str; 5] = ["seed", "buffer_address", "buffers", "most_bytes", "sum_ns"];
/// Lists of counts that each go on from the one before: nobody adds them.
const RUNNING: &str = "samples";

/// All that there is to read, if it is not too much for a record.
pub(super) fn read_to_end(from: impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut json = Vec::new();
    let bytes = from.take(MOST_RECORD_BYTES + 1).read_to_end(&mut json)?;
    Ok((bytes as u64 <= MOST_RECORD_BYTES).then_some(json))
}

/// The first number that is beyond all measure, with its place and why.
///
/// The record says which numbers are whole: other programs may write 1e20 with all its digits.
pub(super) fn excess(record: &Record) -> Option<String> {
    let value = serde_json::to_value(record).ok()?;
    Counts::default().add(&mut String::new(), "", &value).err()
}

/// What the counts of each name are together so far.
#[derive(Default)]
struct Counts<'a> {
    together: BTreeMap<&'a str, u128>,
    running: bool,
}

impl<'a> Counts<'a> {
    /// Adds all that stands in `value`, which is called `name` and stands at `place`.
    fn add(&mut self, place: &mut String, name: &'a str, value: &'a Value) -> Result<(), String> {
        match value {
            Value::Number(number) => self.number(name, number).map_err(|why| format!("{place}: {why}")),
            Value::Array(items) => {
                let outside = self.running;
                self.running |= name == RUNNING;
                for (index, item) in items.iter().enumerate() {
                    below(place, &index.to_string(), |place| self.add(place, name, item))?;
                }
                self.running = outside;
                Ok(())
            }
            Value::Object(fields) => (fields.iter())
                .try_for_each(|(name, value)| below(place, name, |place| self.add(place, name, value))),
            _ => Ok(()),
        }
    }

    fn number(&mut self, name: &'a str, number: &Number) -> Result<(), String> {
        let whole = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
        let Some(whole) = whole.filter(|_| !OF_ANY_SIZE.contains(&name)) else { return Ok(()) };
        if name.ends_with("_ns") {
            return if whole > MOST_NS {
                Err(format!("{number} ns is more than any clock tells"))
            } else {
                Ok(())
            };
        }
        if whole > MOST_COUNT {
            return Err(format!("{number} is more than 2^53, and no count"));
        }
        if !self.running {
            let together = self.together.entry(name).or_default();
            *together += u128::from(whole);
            if *together > MOST_TOGETHER {
                return Err(format!("with this one all `{name}` are more than 2^56 together, and no counts"));
            }
        }
        Ok(())
    }
}

fn below(
    place: &mut String,
    part: &str,
    act: impl FnOnce(&mut String) -> Result<(), String>,
) -> Result<(), String> {
    let length = place.len();
    place.push('/');
    place.push_str(part);
    act(place)?;
    place.truncate(length);
    Ok(())
}
