//! Numbers in print, the same in every picture: three digits count, thousands are parted by commas, and an interval has
//! the digits of its value.
//!
//! In which unit a time stands is each measurement's own matter, so that its times can be held against each other
//! at a glance: [`MICROSECONDS`] for what happens to a message in the stack, [`UP_TO_MILLISECONDS`] where a retransmission
//! may be among the times, [`UP_TO_SECONDS`] where programs are timed, or runs of any kind compared.

use netfathom_model::units::format_rate;

/// Units of one dimension, the largest first.
pub(crate) type Units = &'static [Unit];

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    /// The least value that stands in it, rounded to three digits.
    from: f64,
    /// How much it is.
    pub size: f64,
    /// As it stands behind a number.
    pub name: &'static str,
}

const fn unit(from: f64, size: f64, name: &'static str) -> Unit {
    Unit { from, size, name }
}

const NS: Unit = unit(0.0, 1.0, " ns");
const US: Unit = unit(999.5, 1e3, " µs");

/// Of times, in nanoseconds.
pub(crate) const MICROSECONDS: Units = &[US, NS];
/// Of times, in nanoseconds.
pub(crate) const UP_TO_MILLISECONDS: Units = &[unit(1e7, 1e6, " ms"), US, NS];
/// Of times, in nanoseconds.
pub(crate) const UP_TO_SECONDS: Units = &[unit(999.5e6, 1e9, " s"), unit(999.5e3, 1e6, " ms"), US, NS];
/// Of rates and counts that are large.
pub(crate) const MULTIPLES: Units = &[unit(999.5e3, 1e6, "M"), unit(999.5, 1e3, "k"), unit(0.0, 1.0, "")];
/// Of bits a second, by thousands as networks have them.
const BITS_PER_S: Units =
    &[unit(999.5e6, 1e9, " Gb/s"), unit(999.5e3, 1e6, " Mb/s"), unit(0.0, 1e3, " kb/s")];

/// Of bytes a second; a stalled connection brings a few kilobytes.
pub(crate) const BYTES_PER_S: Units = &[unit(1e5, 1e6, " MB/s"), unit(0.0, 1e3, " kB/s")];

/// Of counts of which a few are read one by one.
pub(crate) const LARGE_COUNTS: Units =
    &[unit(999.5e6, 1e9, " G"), unit(999.5e3, 1e6, " M"), unit(0.0, 1.0, "")];
/// Of bytes in memory or on a disk, by 1024.
pub(crate) const BYTES: Units = &[
    unit(0.9995 * GIB, GIB, " GiB"),
    unit(0.9995 * MIB, MIB, " MiB"),
    unit(0.9995 * KIB, KIB, " KiB"),
    unit(0.0, 1.0, " B"),
];
const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;
const GIB: f64 = 1024.0 * MIB;

/// The unit in which a value is read.
pub(crate) fn unit_of(value: f64, units: Units) -> Unit {
    units.iter().copied().find(|unit| value.abs() >= unit.from).unwrap_or(unit(0.0, 1.0, ""))
}

/// A value in the unit in which it is read, in three digits: `1.18 µs`, `0 ns`.
pub(crate) fn in_unit(value: f64, units: Units) -> String {
    let unit = unit_of(value, units);
    let value = value / unit.size;
    format!("{}{}", grouped(value, if value == 0.0 { 0 } else { three(value) }), unit.name)
}

/// Bits a second of bytes a second: `94.5 Mb/s`.
pub(crate) fn bits_per_s(bytes_per_s: f64) -> String {
    in_unit(bytes_per_s * 8.0, BITS_PER_S)
}

/// A rate in three digits: `190k/s`.
pub(crate) fn rate(per_s: f64) -> String {
    format!("{}/s", bare_rate(per_s))
}

/// The same below a heading that says that it is a second.
pub(crate) fn bare_rate(per_s: f64) -> String {
    if per_s.abs() < 0.0005 {
        return little(per_s);
    }
    let sign = if per_s < 0.0 { "-" } else { "" };
    format!("{sign}{}", format_rate(significant(per_s.abs(), 3)))
}

/// A share of 0 to 1 in percent, with as many digits as it needs: `94.1 %`, `0.034 %`, `0 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", little(share * 100.0))
}

/// In three digits, and no more than three decimals: what these do not show is not nothing. `1.00`, `0.034`, `<0.001`.
pub(crate) fn little(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        v if v < 0.0005 => if value < 0.0 { ">-0.001" } else { "<0.001" }.into(),
        v if v < 0.0995 => grouped(value, 3),
        _ => grouped(value, three(value)),
    }
}

/// With so many decimals, thousands parted by commas.
#[must_use]
pub(crate) fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let whole = text.find('.').unwrap_or(text.len());
    let first = text.find(|c: char| c.is_ascii_digit()).unwrap_or(whole);
    let mut out = String::with_capacity(text.len() + 4);
    for (i, c) in text.char_indices() {
        if i > first && i < whole && (whole - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Decimals that show three digits, and no more than two of them.
pub(crate) fn three(value: f64) -> usize {
    match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    }
}

/// The decimals of a value, and half its interval in as many: no fewer than the value has by itself, and no so few that
/// the interval becomes nothing. One that three decimals do not show is as good as none, but not none.
pub(crate) fn with_half(decimals: usize, half: f64) -> (usize, String) {
    if half > 0.0 && half < 0.0005 {
        return (decimals, "<0.001".into());
    }
    let needed = if half > 0.0 { (-half.log10()).ceil().max(0.0) as usize } else { 0 };
    let decimals = decimals.max(needed).min(3);
    (decimals, grouped(half, decimals))
}

/// The number in that many digits.
pub(crate) fn significant(value: f64, digits: i32) -> f64 {
    // Below, the power of ten leaves its type.
    if value.abs() < 1e-290 || !value.is_finite() {
        return value;
    }
    let unit = 10f64.powi(value.abs().log10().floor() as i32 + 1 - digits);
    if unit < 1.0 { (value / unit).round() / (1.0 / unit).round() } else { (value / unit).round() * unit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_measurement_has_its_units_of_time() {
        let times = [0.0, 0.213, 999.4, 999.5, 1184.0, 855_355.0, 9_999_000.0, 86_200_000.0, 2.5e9];
        assert_eq!(
            times.map(|ns| in_unit(ns, MICROSECONDS)),
            [
                "0 ns",
                "0.21 ns",
                "999 ns",
                "1.00 µs",
                "1.18 µs",
                "855 µs",
                "9,999 µs",
                "86,200 µs",
                "2,500,000 µs"
            ]
        );
        assert_eq!(
            times[5..].iter().map(|&ns| in_unit(ns, UP_TO_MILLISECONDS)).collect::<Vec<_>>(),
            ["855 µs", "9,999 µs", "86.2 ms", "2,500 ms"]
        );
        assert_eq!(
            times[5..].iter().map(|&ns| in_unit(ns, UP_TO_SECONDS)).collect::<Vec<_>>(),
            ["855 µs", "10.0 ms", "86.2 ms", "2.50 s"]
        );
    }

    #[test]
    fn rates_have_three_digits() {
        assert_eq!([909_771.9, 190_049.0, 12.345, 0.0].map(rate), ["910k/s", "190k/s", "12.3/s", "0/s"]);
        assert_eq!([-452_345.0, -1e-9, 4e-4].map(rate), ["-452k/s", ">-0.001/s", "<0.001/s"]);
        assert_eq!(
            [1.25e9, 117.6e6, 125.0, 0.0].map(bits_per_s),
            ["10.0 Gb/s", "941 Mb/s", "1.00 kb/s", "0 kb/s"]
        );
    }

    #[test]
    fn little_is_not_nothing() {
        assert_eq!(
            [0.0, 2e-6, -2e-6, 3.4e-4, 0.02, 0.5, 1.0, 51.24].map(percent),
            ["0 %", "<0.001 %", ">-0.001 %", "0.034 %", "2.00 %", "50.0 %", "100 %", "5,124 %"]
        );
    }

    #[test]
    fn an_interval_is_never_written_as_none() {
        assert_eq!(with_half(2, 0.0004), (2, "<0.001".into()));
        assert_eq!(with_half(2, 0.004), (3, "0.004".into()));
        assert_eq!(with_half(0, 45.3), (0, "45".into()));
        assert_eq!(with_half(2, 0.0), (2, "0.00".into()));
    }

    #[test]
    fn numbers_at_the_edge_of_their_type_stay_what_they_are() {
        assert_eq!([1e-320, 0.0, f64::INFINITY].map(|v| significant(v, 3)), [1e-320, 0.0, f64::INFINITY]);
        assert_eq!([0.012_345, -1234.5].map(|v| significant(v, 3)), [0.0123, -1230.0]);
        assert_eq!(grouped(-1_234_567.0, 0), "-1,234,567");
    }
}
