//! Interfaces of a section: what its packets begin with, and what their times count.

use super::super::Order;
use super::options::Options;
use crate::packet::{LinkType, MOST_NS, Resolution};

const TIME_RESOLUTION: u16 = 9;
const TIME_OFFSET: u16 = 14;

/// An interface, as a section describes it.
#[derive(Debug)]
pub struct Interface {
    pub link: LinkType,
    /// The most that is captured of a packet, where there is a bound.
    pub snaplen: Option<u32>,
    pub resolution: Resolution,
    unit: Unit,
    /// Added to every time.
    offset_ns: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Nanoseconds(u64),
    /// A nanosecond divided by this number; `None` if the number is too large.
    PartOfNanosecond(Option<u64>),
    /// A second divided by two to this power.
    Binary(u8),
}

impl Interface {
    pub fn read(order: Order, body: &[u8]) -> Result<Self, String> {
        let Some((head, options)) = body.split_at_checked(8) else {
            return Err(format!("an interface's description has {} bytes of 8", body.len()));
        };
        let link = LinkType::of(u32::from(order.u16_at(head, 0)));
        let snaplen = Some(order.u32_at(head, 4)).filter(|snaplen| *snaplen != 0);
        let (resolution, unit) = (Resolution::MICROSECONDS, Unit::Nanoseconds(1000));
        let mut interface = Self { link, snaplen, resolution, unit, offset_ns: 0 };
        for option in Options::new(order, options) {
            let (code, value) = option?;
            match code {
                TIME_RESOLUTION => (interface.resolution, interface.unit) = counted_in(value)?,
                TIME_OFFSET => interface.offset_ns = offset_ns(order, value)?,
                _ => {}
            }
        }
        Ok(interface)
    }

    /// The time of a packet with a timestamp of `ticks`, rounded down.
    #[inline]
    pub fn time_ns(&self, ticks: u64) -> Result<i64, String> {
        let since_offset = match self.unit {
            Unit::Nanoseconds(many) => ticks.checked_mul(many).and_then(|ns| i64::try_from(ns).ok()),
            Unit::PartOfNanosecond(over) => i64::try_from(over.map_or(0, |over| ticks / over)).ok(),
            Unit::Binary(power) => i64::try_from((u128::from(ticks) * 1_000_000_000) >> power).ok(),
        };
        since_offset
            .and_then(|ns| ns.checked_add(self.offset_ns))
            .filter(|ns| ns.unsigned_abs() <= MOST_NS)
            .ok_or_else(|| format!("a packet's time, {ticks} ticks, is not within the years 1823 to 2116"))
    }
}

fn counted_in(value: &[u8]) -> Result<(Resolution, Unit), String> {
    let &[resolution] = value else {
        return Err(format!("a resolution of times has {} bytes instead of 1", value.len()));
    };
    let power = resolution & 0x7f;
    let unit = match power.checked_sub(9) {
        _ if resolution & 0x80 != 0 => Unit::Binary(power),
        None | Some(0) => Unit::Nanoseconds(10u64.pow(u32::from(9 - power))),
        Some(finer) => Unit::PartOfNanosecond(10u64.checked_pow(u32::from(finer))),
    };
    Ok((Resolution::of(resolution), unit))
}

fn offset_ns(order: Order, value: &[u8]) -> Result<i64, String> {
    let Ok(bytes) = value.try_into() else {
        return Err(format!("an offset of times has {} bytes instead of 8", value.len()));
    };
    let seconds = match order {
        Order::Little => i64::from_le_bytes(bytes),
        Order::Big => i64::from_be_bytes(bytes),
    };
    seconds
        .checked_mul(1_000_000_000)
        .ok_or_else(|| format!("an offset of times of {seconds} s is beyond 292 years"))
}
