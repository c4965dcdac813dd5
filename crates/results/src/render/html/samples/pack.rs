//! Samples as text: columns of small numbers, squeezed.

use std::io;

use serde::Serialize;

use super::read::{Point, Trials};
use super::resolution::{RESOLUTIONS, Resolution, bytes};
use crate::render::html::embed::squeezed;

/// Samples that a page can unpack.
///
/// The bytes hold one after the other: the gaps between the moments of all trials; then for each direction
/// the gaps between the stack times that occur; then for each message which of them it took, from 1, all
/// lower bytes before all upper ones. Gaps are numbers of seven bits a byte, the lowest first.
#[derive(Serialize)]
pub struct Packed {
    /// By what part a stack time may be off, 0 to 1; nothing where it is exact.
    error: Option<f64>,
    trials: Vec<PackedTrial>,
    directions: Vec<PackedTimes>,
    /// Length of the bytes once they are unpacked.
    bytes: usize,
    #[serde(skip)]
    pub text: String,
}

#[derive(Serialize)]
struct PackedTrial {
    trial: u32,
    n: usize,
    /// The step of its moments.
    tick_ns: i64,
    /// Steps from its start to its first message.
    first: i64,
}

#[derive(Serialize)]
struct PackedTimes {
    direction: &'static str,
    /// The least stack time.
    first_ns: i64,
    /// How many different ones there are.
    distinct: usize,
}

/// One direction: its name and how its time is read from a message.
type Way = (&'static str, fn(&Point) -> Option<i64>);
const WAYS: [Way; 2] = [("tx", |point| point.tx_ns), ("rx", |point| point.rx_ns)];

/// A message's stack time takes two bytes.
const MOST_DISTINCT: usize = u16::MAX as usize;

impl Packed {
    /// Packs into at most `room_bytes` of text, as exactly as that allows; nothing of no samples.
    pub fn of(trials: &Trials, room_bytes: usize) -> io::Result<Option<Self>> {
        if trials.is_empty() {
            return Ok(None);
        }
        let sorted: Vec<Vec<i64>> = WAYS.iter().map(|&way| sorted(trials, way)).collect();
        let room = room_bytes as f64 * 3.0 / 4.0;
        let few = |r: Resolution| sorted.iter().all(|values| distinct(r, values).len() <= MOST_DISTINCT);
        let fits = |r: &Resolution| few(*r) && bytes(*r, trials, &sorted) <= room;
        let first = RESOLUTIONS.iter().position(fits).unwrap_or(RESOLUTIONS.len() - 1);
        // What it takes is estimated; what it took is known.
        let mut packed = Self::by(RESOLUTIONS[first], trials, &sorted)?;
        for &resolution in &RESOLUTIONS[first + 1..] {
            if packed.text.len() <= room_bytes {
                break;
            }
            packed = Self::by(resolution, trials, &sorted)?;
        }
        Ok(Some(packed))
    }

    fn by(resolution: Resolution, trials: &Trials, sorted: &[Vec<i64>]) -> io::Result<Self> {
        let mut raw = Vec::new();
        let heads =
            trials.iter().map(|(&trial, points)| moments(&mut raw, resolution, trial, points)).collect();
        let mut directions = Vec::new();
        for (&way, values) in WAYS.iter().zip(sorted).filter(|(_, values)| !values.is_empty()) {
            let occurring = distinct(resolution, values);
            occurring.windows(2).for_each(|two| number(&mut raw, two[1].abs_diff(two[0])));
            directions.push(PackedTimes {
                direction: way.0,
                first_ns: occurring[0],
                distinct: occurring.len(),
            });
            let codes: Vec<u16> =
                trials.values().flatten().map(|p| code(resolution, &occurring, way.1(p))).collect();
            raw.extend(codes.iter().map(|code| code.to_le_bytes()[0]));
            raw.extend(codes.iter().map(|code| code.to_le_bytes()[1]));
        }
        let text = squeezed(&raw)?;
        Ok(Self { error: resolution.error(), trials: heads, directions, bytes: raw.len(), text })
    }
}

fn sorted(trials: &Trials, way: Way) -> Vec<i64> {
    let mut values: Vec<i64> = trials.values().flatten().filter_map(way.1).collect();
    values.sort_unstable();
    values
}

/// The stack times that occur by this resolution, in order.
fn distinct(resolution: Resolution, sorted: &[i64]) -> Vec<i64> {
    let mut values: Vec<i64> = sorted.iter().map(|&ns| resolution.round(ns)).collect();
    values.dedup();
    values
}

fn code(resolution: Resolution, occurring: &[i64], ns: Option<i64>) -> u16 {
    let place = ns.and_then(|ns| occurring.binary_search(&resolution.round(ns)).ok());
    place.and_then(|place| u16::try_from(place + 1).ok()).unwrap_or(0)
}

fn moments(raw: &mut Vec<u8>, resolution: Resolution, trial: u32, points: &[Point]) -> PackedTrial {
    let (first, last) = (points[0].at_ns, points[points.len() - 1].at_ns);
    let tick_ns = resolution.tick_ns(points.len(), last.saturating_sub(first));
    let step = |point: &Point| point.at_ns.div_euclid(tick_ns);
    points.windows(2).for_each(|two| number(raw, step(&two[1]).abs_diff(step(&two[0]))));
    PackedTrial { trial, n: points.len(), tick_ns, first: first.div_euclid(tick_ns) }
}

fn number(raw: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        raw.push(value as u8 | 0x80);
        value >>= 7;
    }
    raw.push(value as u8);
}
