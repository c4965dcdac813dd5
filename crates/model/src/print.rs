//! Numbers as people read them: three digits that count, in the unit that keeps them between 1 and 1000, thousands
//! parted by commas, and half an interval in the digits of its value.
//!
//! Everything that Rust prints goes through here; `format.js` of the reports has the same rules, and a test holds one
//! against the other. What people typed is written back by [`crate::units`], to the last digit.

use std::time::Duration;

/// What stands where there is no number.
pub const NOT_KNOWN: &str = "n/a";

/// Beyond this a number is written with its power of ten.
const MOST_PLAIN: f64 = 1e15;

/// The least that three decimals show.
const LEAST_SHOWN: f64 = 0.0005;

/// What a number counts, and so the units that it is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Nanoseconds: `1.18 µs`.
    Time,
    /// Things a second: `452k/s`.
    Rate,
    /// Things where the heading says what they are: `452k`.
    Multiple,
    /// The same of counts, which are written out below a million: `1,204`.
    Count,
    /// Bits a second, in powers of ten as networks have them: `9.41 Gb/s`.
    BitRate,
    /// Bytes a second, in powers of ten: `1.18 GB/s`.
    ByteRate,
    /// Bytes in memory or on a disk, in powers of 1024: `3.12 MiB`.
    Bytes,
    /// A part of a whole, 1 for all of it: `94.1 %`, and from ten times the whole on `778 times`.
    Share,
    /// One thing over another: `2.31`.
    Ratio,
}

#[derive(Clone, Copy)]
struct Unit {
    size: f64,
    /// What stands behind half an interval too: without it `452k/s ± 6` reads as six.
    multiple: &'static str,
    name: &'static str,
}

const fn unit(size: f64, multiple: &'static str, name: &'static str) -> Unit {
    Unit { size, multiple, name }
}

const KIB: f64 = 1024.0;

const TIME: &[Unit] =
    &[unit(1.0, "", " ns"), unit(1e3, "", " µs"), unit(1e6, "", " ms"), unit(1e9, "", " s")];
const RATE: &[Unit] =
    &[unit(1.0, "", "/s"), unit(1e3, "k", "/s"), unit(1e6, "M", "/s"), unit(1e9, "G", "/s")];
const MULTIPLE: &[Unit] = &[unit(1.0, "", ""), unit(1e3, "k", ""), unit(1e6, "M", ""), unit(1e9, "G", "")];
const COUNT: &[Unit] = &[unit(1.0, "", ""), unit(1e6, "M", ""), unit(1e9, "G", "")];
const BIT_RATE: &[Unit] = &[
    unit(1.0, "", " b/s"),
    unit(1e3, "", " kb/s"),
    unit(1e6, "", " Mb/s"),
    unit(1e9, "", " Gb/s"),
    unit(1e12, "", " Tb/s"),
];
const BYTE_RATE: &[Unit] =
    &[unit(1.0, "", " B/s"), unit(1e3, "", " kB/s"), unit(1e6, "", " MB/s"), unit(1e9, "", " GB/s")];
const BYTES: &[Unit] = &[
    unit(1.0, "", " B"),
    unit(KIB, "", " KiB"),
    unit(KIB * KIB, "", " MiB"),
    unit(KIB * KIB * KIB, "", " GiB"),
];
const SHARE: &[Unit] = &[unit(0.01, "", " %"), unit(1.0, "", " times")];
const RATIO: &[Unit] = &[unit(1.0, "", "")];

impl Scale {
    /// The smallest first.
    fn units(self) -> &'static [Unit] {
        match self {
            Self::Time => TIME,
            Self::Rate => RATE,
            Self::Multiple => MULTIPLE,
            Self::Count => COUNT,
            Self::BitRate => BIT_RATE,
            Self::ByteRate => BYTE_RATE,
            Self::Bytes => BYTES,
            Self::Share => SHARE,
            Self::Ratio => RATIO,
        }
    }

    /// The first unit in which the value stays below the next one, rounded to three digits.
    fn unit(self, value: f64) -> Unit {
        let units = self.units();
        let full = |unit: &Unit| match self {
            Self::Bytes => 1023.5,
            Self::Count if unit.size == 1.0 => 999_999.5,
            _ => 999.5,
        };
        let found = units.iter().find(|unit| value.abs() / unit.size < full(unit));
        let largest = &units[units.len() - 1];
        // A power of ten needs no multiple behind it.
        let is_power = !largest.multiple.is_empty() && value.abs() / largest.size >= MOST_PLAIN;
        *found.unwrap_or(if is_power { &units[0] } else { largest })
    }

    /// The value in its unit: `1.18 µs`, `452k/s`, `0.034 %`, `<0.001 %`.
    pub fn text(self, value: f64) -> String {
        if !value.is_finite() {
            return NOT_KNOWN.into();
        }
        let unit = self.unit(value);
        let number = value / unit.size;
        let text = match number.abs() {
            0.0 => "0".into(),
            n if n < LEAST_SHOWN => (if number < 0.0 { ">-0.001" } else { "<0.001" }).into(),
            n if n.fract() == 0.0 && self.counts(unit) => grouped(number, 0),
            _ => grouped(number, decimals(number)),
        };
        format!("{text}{}{}", unit.multiple, unit.name)
    }

    /// Whether a whole number in this unit is a count: decimals would claim what was not measured.
    fn counts(self, unit: Unit) -> bool {
        unit.size == 1.0 && !matches!(self, Self::Share | Self::Ratio)
    }

    /// The value with half its interval: `1.18 µs ± 0.04`, `452k/s ± 6k`. Both have the decimals that show the larger of
    /// them, but no more than two digits of the half, and more where it would read as nothing.
    pub fn interval(self, value: f64, half: Option<f64>) -> String {
        let Some(half) = half.filter(|_| value.is_finite()) else { return self.text(value) };
        if !half.is_finite() {
            return format!("{} ± ?", self.text(value));
        }
        let (unit, decimals) = self.precision(value, half);
        let part = half / unit.size;
        let beside = match part {
            part if part > 0.0 && part < LEAST_SHOWN => self.text(half),
            part => grouped(part, decimals) + unit.multiple,
        };
        format!("{}{}{} ± {beside}", grouped(value / unit.size, decimals), unit.multiple, unit.name)
    }

    /// The value with an interval that is not symmetric: `12.2 % (-1.1 to 28.2 %)`, in the digits of [`Self::interval`]. An
    /// end that is not zero does not read as zero.
    pub fn within(self, value: f64, ends: (f64, f64)) -> String {
        match self.three(value, ends) {
            Some(([value, low, high], Unit { multiple, name, .. })) => {
                format!("{value}{multiple}{name} ({low}{multiple} to {high}{multiple}{name})")
            }
            None => self.text(value),
        }
    }

    /// The upper end of such an interval by itself.
    pub fn upper(self, value: f64, ends: (f64, f64)) -> String {
        match self.three(value, ends) {
            Some(([.., high], Unit { multiple, name, .. })) => format!("{high}{multiple}{name}"),
            None => self.text(ends.1),
        }
    }

    /// A value and the ends of its interval, all in one unit.
    fn three(self, value: f64, (low, high): (f64, f64)) -> Option<([String; 3], Unit)> {
        if ![value, low, high].iter().all(|number| number.is_finite()) {
            return None;
        }
        let (unit, least) = self.precision(value.abs().max(low.abs()).max(high.abs()), (high - low) / 2.0);
        let written = |number: f64| {
            let number = number / unit.size;
            let is_lost = number != 0.0 && (number.abs() * 10f64.powi(least as i32)).round() == 0.0;
            grouped(number, if is_lost { decimals(number).max(least) } else { least })
        };
        Some(([value, low, high].map(written), unit))
    }

    /// The unit of a value and half its interval, and the decimals that both are written with.
    fn precision(self, value: f64, half: f64) -> (Unit, usize) {
        let larger = value.abs().max(half);
        let unit = self.unit(larger);
        let decimals = if larger == 0.0 { 0 } else { decimals(larger / unit.size) };
        let decimals = match half / unit.size {
            h if h < LEAST_SHOWN => decimals,
            h if h >= 9.95 => 0,
            h if h >= 0.995 => decimals.min(1),
            h if h >= 0.0995 => decimals.clamp(1, 2),
            h if h >= 0.00995 => decimals.clamp(2, 3),
            _ => 3,
        };
        (unit, decimals)
    }
}

/// A time in nanoseconds: `1.18 µs`.
pub fn time(ns: f64) -> String {
    Scale::Time.text(ns)
}

/// About how long something lasts that people wait for: `90 s`, `12 min`, `3 h`.
pub fn lasting(time: Duration) -> String {
    match time.as_secs() {
        s if s < 120 => format!("{s} s"),
        s if s < 120 * 60 => format!("{} min", s.div_ceil(60)),
        s => format!("{} h", s.div_ceil(3600)),
    }
}

/// A rate: `452k/s`.
pub fn rate(per_s: f64) -> String {
    Scale::Rate.text(per_s)
}

/// Bits a second of bytes a second: `941 Mb/s`.
pub fn bit_rate(bytes_per_s: f64) -> String {
    Scale::BitRate.text(bytes_per_s * 8.0)
}

/// Bytes in memory or on a disk: `3.12 MiB`.
pub fn bytes(bytes: f64) -> String {
    Scale::Bytes.text(bytes)
}

/// A share of 0 to 1: `94.1 %`.
pub fn percent(share: f64) -> String {
    Scale::Share.text(share)
}

/// The same rounded down near the whole: what is not all must not read as 100 %.
pub fn percent_down(share: f64) -> String {
    match share {
        s if s > 0.9945 && s < 1.0 => format!("{} %", grouped((s * 1e4).floor() / 100.0, 2)),
        s => percent(s),
    }
}

/// How many times a share is of its whole, in a sentence: `12.3 % of a send slot`, `5.13 send slots`.
pub fn share_of(share: f64, whole: &str) -> String {
    if share < 1.0 {
        format!("{} of a {whole}", percent(share))
    } else {
        format!("{} {whole}s", Scale::Ratio.text(share))
    }
}

/// A count to the last digit: `1,005,000`.
pub fn count(n: u64) -> String {
    let text = n.to_string();
    parted(&text, text.len())
}

/// `1 trial`, `2 trials`, `1,000 searches`.
pub fn counted(n: impl TryInto<u64>, what: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    format!("{} {}", count(n), plural(n, what))
}

/// `4, 8, 16`.
pub fn listed(all: impl IntoIterator<Item: ToString>) -> String {
    all.into_iter().map(|one| one.to_string()).collect::<Vec<_>>().join(", ")
}

/// The first ones, and how many the others are: `4, 8 and 3 more`.
pub fn listed_first(most: usize, all: impl IntoIterator<Item: ToString>) -> String {
    let mut all = all.into_iter();
    let first = listed(all.by_ref().take(most));
    match all.count() {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// Of a word as it follows a number.
fn plural(n: u64, what: &str) -> String {
    let ending = if what.ends_with("ch") { "es" } else { "s" };
    format!("{what}{}", if n == 1 { "" } else { ending })
}

/// With `decimals` decimals and thousands separators. Halves are rounded away from zero, and zero is never negative.
pub fn grouped(value: f64, decimals: usize) -> String {
    if value.abs() >= MOST_PLAIN {
        return format!("{value:.1e}");
    }
    let power = 10f64.powi(decimals as i32);
    // Rounded here as format.js rounds, for printing alone takes halves to the even digit.
    let rounded = (value.abs() * power).round() / power;
    let text = format!("{rounded:.decimals$}");
    let whole = text.find('.').unwrap_or(text.len());
    let sign = if value < 0.0 && rounded != 0.0 { "-" } else { "" };
    format!("{sign}{}", parted(&text, whole))
}

/// A comma before every third of the `whole` first digits.
fn parted(text: &str, whole: usize) -> String {
    let mut out = String::with_capacity(text.len() + 4);
    for (i, c) in text.char_indices() {
        if i > 0 && i < whole && (whole - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Decimals that show three digits, and no more than three of them.
pub fn decimals(value: f64) -> usize {
    match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_keeps_three_digits_between_1_and_1000() {
        let times = [0.0, 7.0, 0.213, 39.62, 999.4, 999.5, 1125.0, 855_355.0, 15_583_000.0, 2.5e9, 7.2e12];
        assert_eq!(
            times.map(time),
            [
                "0 ns", "7 ns", "0.213 ns", "39.6 ns", "999 ns", "1.00 µs", "1.13 µs", "855 µs", "15.6 ms",
                "2.50 s", "7,200 s"
            ]
        );
        assert_eq!([909_771.9, 190_049.0, 12.345, 523.0].map(rate), ["910k/s", "190k/s", "12.3/s", "523/s"]);
        assert_eq!(
            [1204.0, 999_999.0, 3.21e9, 73.5].map(|n| Scale::Count.text(n)),
            ["1,204", "999,999", "3.21G", "73.5"]
        );
        assert_eq!([1.25e9, 117.6e6, 1.0, 0.0].map(bit_rate), ["10.0 Gb/s", "941 Mb/s", "8 b/s", "0 b/s"]);
        assert_eq!([512.0, 1023.0, 1536.0, 3.5e6].map(bytes), ["512 B", "1,023 B", "1.50 KiB", "3.34 MiB"]);
    }

    #[test]
    fn a_share_of_ten_wholes_is_a_factor() {
        let shares = [0.0, 2e-6, -2e-6, 3.4e-4, 0.02, 0.5, 1.0, 9.994, 51.24, 777.98];
        assert_eq!(
            shares.map(percent),
            [
                "0 %",
                "<0.001 %",
                ">-0.001 %",
                "0.034 %",
                "2.00 %",
                "50.0 %",
                "100 %",
                "999 %",
                "51.2 times",
                "778 times"
            ]
        );
        assert_eq!(share_of(0.123, "send slot"), "12.3 % of a send slot");
        assert_eq!(share_of(5.131, "send slot"), "5.13 send slots");
        assert_eq!(share_of(777.98, "send slot"), "778 send slots");
        assert_eq!([1.0, 0.999_99, 0.5].map(percent_down), ["100 %", "99.99 %", "50.0 %"]);
    }

    #[test]
    fn an_interval_has_the_unit_and_the_decimals_of_the_larger() {
        let times = |ns, half| Scale::Time.interval(ns, Some(half));
        assert_eq!(times(1184.7, 39.6), "1.18 µs ± 0.04");
        assert_eq!(times(1184.7, 0.6), "1.185 µs ± 0.001");
        assert_eq!(times(200.0, 3.1e6), "0.0 ms ± 3.1");
        assert_eq!(times(0.0, 0.0), "0 ns ± 0");
        assert_eq!(times(225.7, f64::INFINITY), "226 ns ± ?");
        assert_eq!(Scale::Time.interval(225.7, None), "226 ns");
        assert_eq!(Scale::Rate.interval(452_345.0, Some(6_123.0)), "452k/s ± 6k");
        assert_eq!(Scale::Rate.interval(210_000.0, Some(0.016)), "210k/s ± 0.016/s");
        assert_eq!(Scale::Share.interval(-0.0001, Some(0.01)), "0.0 % ± 1.0");
        assert_eq!(Scale::Share.interval(0.00524, Some(0.00174)), "0.52 % ± 0.17");
        assert_eq!(Scale::Count.interval(67.2, Some(11.1)), "67 ± 11");
        assert_eq!(Scale::Share.interval(5.124, Some(0.2)), "512 % ± 20");
    }

    #[test]
    fn numbers_at_the_edge_of_their_type_are_written() {
        assert_eq!([f64::NAN, f64::INFINITY].map(time), [NOT_KNOWN; 2]);
        assert_eq!([3.21e12, 1e308].map(rate), ["3,210G/s", "1.0e308/s"]);
        assert_eq!([1e-320, -1e300].map(percent), ["<0.001 %", "-1.0e300 times"]);
        assert_eq!((grouped(-1_234_567.0, 0), grouped(-0.001, 2)), ("-1,234,567".into(), "0.00".into()));
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    }
}
