//! Numbers as people read them in a terminal. Times are microseconds unless they are below one.

use netfathom_model::record::Distribution;
use netfathom_model::units::format_rate;

use crate::render::digits::{self, MICROSECONDS, MULTIPLES, grouped};

pub(super) use crate::render::digits::{percent as fine_percent, rate};

/// A time that is the mean of others: `1.18 µs`, `841 ns`, `0.34 ns`.
pub(super) fn mean(ns: f64) -> String {
    digits::in_unit(ns, MICROSECONDS)
}

/// A single time, whole nanoseconds.
pub(super) fn time(ns: i64) -> String {
    if ns.abs() < 1000 { format!("{ns} ns") } else { mean(ns as f64) }
}

/// A smallest time in the papers' way: `<0` where it is negative.
pub(super) fn least(ns: i64) -> String {
    if ns < 0 { "<0".into() } else { time(ns) }
}

/// A time with half its interval in the same unit: `1.18 µs ± 0.04`.
pub(super) fn interval(ns: f64, half_width_ns: Option<f64>) -> String {
    let Some(half_width_ns) = half_width_ns else { return mean(ns) };
    let unit = digits::unit_of(ns, MICROSECONDS);
    let value = ns / unit.size;
    let (decimals, half) = digits::with_half(digits::three(value), half_width_ns / unit.size);
    format!("{}{} ± {half}", grouped(value, decimals), unit.name)
}

/// Half an interval alone: `± 0.04 µs`; a dash where there is none.
pub(super) fn half_width(ns: Option<f64>) -> String {
    ns.map_or_else(|| "-".into(), |ns| format!("± {}", mean(ns)))
}

/// A time behind which stands a quantile; `<0` where it fell among the negative ones.
pub(super) fn quantile(d: &Distribution, ns: i64) -> String {
    if d.n == 0 { "-".into() } else { least(ns) }
}

/// A count with a separator at every thousand.
pub(super) fn count(n: u64) -> String {
    grouped(n as f64, 0)
}

/// A difference of two clocks, whole, with its sign.
pub(super) fn signed(ns: i64) -> String {
    let digits = ns.unsigned_abs().to_string();
    let mut out = String::from(if ns < 0 { "-" } else { "+" });
    for (i, c) in digits.char_indices() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A length of time in seconds: `9.961`.
pub(super) fn seconds(ns: u64) -> String {
    grouped(ns as f64 / 1e9, 3)
}

/// A count in three or four digits: `3.015M`.
pub(super) fn short_count(n: u64) -> String {
    if n < 100_000 { count(n) } else { format_rate(digits::significant(n as f64, 4)) }
}

/// A share of 0 to 1 in percent, with one decimal always, for those that stand below each other and make a whole: `94.1 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A rate with half its interval, the unit with both, for a bare number would be read as
/// messages: `452k/s ± 6k`.
pub(super) fn rate_interval(per_s: f64, half_width_per_s: Option<f64>) -> String {
    half_width_per_s.map_or_else(|| digits::rate(per_s), |half| with_half(per_s, half, "/s"))
}

/// The same below a heading that says that it is a second.
pub(super) fn bare_rate_interval(per_s: f64, half_width_per_s: Option<f64>) -> String {
    half_width_per_s.map_or_else(|| digits::bare_rate(per_s), |half| with_half(per_s, half, ""))
}

fn with_half(per_s: f64, half: f64, a_second: &str) -> String {
    let unit = digits::unit_of(per_s, MULTIPLES);
    let value = per_s / unit.size;
    let (decimals, half) = digits::with_half(digits::three(value), half / unit.size);
    format!("{}{}{a_second} ± {half}{}", grouped(value, decimals), unit.name, unit.name)
}

/// A share of a whole, rounded down: what is not all must not read as 100 %.
pub(super) fn percent_down(share: f64) -> String {
    if share >= 1.0 { percent(share) } else { format!("{:.2} %", (share * 1e4).floor() / 100.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_microseconds_unless_below_one() {
        let times = [0, -119, 999, 1000, 1184, 12_345, 855_355, 12_345_678].map(time);
        assert_eq!(
            times,
            ["0 ns", "-119 ns", "999 ns", "1.00 µs", "1.18 µs", "12.3 µs", "855 µs", "12,346 µs"]
        );
        assert_eq!((least(-1), least(0)), ("<0".into(), "0 ns".into()));
    }

    #[test]
    fn an_interval_shares_the_unit_and_digits_of_its_value() {
        assert_eq!(interval(1184.7, Some(39.6)), "1.18 µs ± 0.04");
        assert_eq!(interval(1184.7, Some(0.6)), "1.185 µs ± 0.001");
        assert_eq!(interval(225.7, Some(7.8)), "226 ns ± 8");
        assert_eq!(interval(225.7, None), "226 ns");
        assert_eq!(interval(0.0, Some(0.0)), "0.00 ns ± 0.00");
    }

    #[test]
    fn a_share_near_all_is_not_all() {
        assert_eq!([1.0, 0.99999, 0.5].map(percent_down), ["100.0 %", "99.99 %", "50.00 %"]);
    }

    #[test]
    fn a_rate_shares_unit_and_digits_with_its_interval() {
        assert_eq!(rate_interval(452_345.0, Some(6_123.0)), "452k/s ± 6k");
        assert_eq!(rate_interval(1_234_567.0, Some(4_000.0)), "1.235M/s ± 0.004M");
        assert_eq!(rate_interval(452_345.0, None), "452k/s");
        assert_eq!(rate_interval(210_000.0, Some(0.016)), "210k/s ± <0.001k");
    }

    #[test]
    fn counts_are_short() {
        assert_eq!(count(1_005_000), "1,005,000");
        assert_eq!((short_count(3_015_000), short_count(99_999)), ("3.015M".into(), "99,999".into()));
    }
}
