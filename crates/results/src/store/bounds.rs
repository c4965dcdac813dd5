//! How much a record may hold: numbers that can be added up, and bytes that fit into memory.
//!
//! Whoever draws, compares or exports a record adds counts of it, and takes times from each other. With these bounds,
//! kept by all records that netfathom writes, no sum of one field's counts and no difference of two times leaves its
//! type. Sums of many times may, and are made in wider ones.

use std::collections::HashMap;
use std::io::{self, Read, Write};

use netfathom_model::record::Record;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

/// What a record may take in bytes: the longest plan, a thousand trials with as many beside them, makes some 300 MB.
pub const MOST_RECORD_BYTES: u64 = 512 << 20;

/// What a count may be: beyond it readers of JSON do not keep whole numbers (RFC 8259, section 6).
const MOST_COUNT: u128 = 1 << 53;
/// What the counts of one name may be together in a record: those of a hundred records still add up.
const MOST_TOGETHER: u128 = 1 << 56;
/// What a time may be in nanoseconds, either way: 146 years, more than any clock tells, and half of what an `i64` holds.
const MOST_NS: u128 = (1 << 62) - 1;
/// Any number: they are never added up, or only so that they may be of any size.
const OF_ANY_SIZE: [&str; 10] = [
    "seed",
    "buffer_address",
    "buffers",
    "most_bytes",
    "peak_rss_bytes",
    "span_ns",
    "sum_ns",
    "cpu",
    "cpus",
    "program_cpu",
];
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
    let counts = Counts { within: Vec::new(), in_name: false, together: HashMap::new() };
    record.serialize(&mut Serializer::with_formatter(io::sink(), counts)).err().map(|e| e.to_string())
}

/// Where the serializer is: in a list, or in an object at the field of that name.
enum Within {
    List(usize),
    Object(String),
}

/// Looks at the numbers of a record as it is written to nowhere, so that no second copy of it is in memory.
struct Counts {
    within: Vec<Within>,
    in_name: bool,
    /// What the counts of each name are together so far.
    together: HashMap<String, u128>,
}

impl Counts {
    fn number(&mut self, number: i128) -> io::Result<()> {
        // A name that is a number is no number.
        if self.in_name {
            return Ok(());
        }
        self.checked(number).map_err(|why| io::Error::other(format!("{}: {why}", self.place())))
    }

    fn checked(&mut self, number: i128) -> Result<(), String> {
        let whole = number.unsigned_abs();
        let named = |within: &Within| matches!(within, Within::Object(_));
        let Some(Within::Object(name)) = self.within.iter().rfind(|within| named(within)) else {
            return Ok(());
        };
        if OF_ANY_SIZE.contains(&name.as_str()) {
            return Ok(());
        }
        if name.ends_with("_ns") {
            let is_time = whole <= MOST_NS;
            return if is_time { Ok(()) } else { Err(format!("{number} ns is more than any clock tells")) };
        }
        if whole > MOST_COUNT {
            return Err(format!("{number} is more than 2^53, and no count"));
        }
        if self.within.iter().any(|within| matches!(within, Within::Object(name) if name == RUNNING)) {
            return Ok(());
        }
        let together = match self.together.get_mut(name) {
            Some(together) => together,
            None => self.together.entry(name.clone()).or_default(),
        };
        *together += whole;
        if *together > MOST_TOGETHER {
            return Err(format!("with this one all `{name}` are more than 2^56 together, and no counts"));
        }
        Ok(())
    }

    /// A JSON pointer (RFC 6901).
    fn place(&self) -> String {
        let part = |within: &Within| match within {
            Within::List(index) => format!("/{index}"),
            Within::Object(name) => format!("/{name}"),
        };
        self.within.iter().map(part).collect()
    }
}

/// Whole numbers of every type that a record has; none is wider than 64 bits but sums, which may be of any size.
macro_rules! look_at {
    ($($method:ident: $type:ty),*) => {
        $(fn $method<W: ?Sized + Write>(&mut self, _: &mut W, value: $type) -> io::Result<()> {
            self.number(value.into())
        })*
    };
}

impl Formatter for Counts {
    look_at!(write_i8: i8, write_i16: i16, write_i32: i32, write_i64: i64);
    look_at!(write_u8: u8, write_u16: u16, write_u32: u32, write_u64: u64);

    fn begin_array<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.within.push(Within::List(0));
        Ok(())
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        if let Some(Within::List(index)) = self.within.last_mut() {
            *index += 1;
        }
        Ok(())
    }

    fn end_array<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.within.pop();
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.within.push(Within::Object(String::new()));
        Ok(())
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, _: &mut W, _first: bool) -> io::Result<()> {
        self.in_name = true;
        if let Some(Within::Object(name)) = self.within.last_mut() {
            name.clear();
        }
        Ok(())
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, _: &mut W, fragment: &str) -> io::Result<()> {
        if let (true, Some(Within::Object(name))) = (self.in_name, self.within.last_mut()) {
            name.push_str(fragment);
        }
        Ok(())
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.in_name = false;
        Ok(())
    }

    fn end_object<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.within.pop();
        Ok(())
    }
}
