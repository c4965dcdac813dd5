//! What the tables of a terminal say of a value: what is negative, missing, or the whole of a count.

use netfathom_model::print::{self, Scale};
use netfathom_model::record::Distribution;

pub(super) use netfathom_model::print::{count, percent, percent_down, rate, time as mean};

/// A single time, whole nanoseconds.
pub(super) fn time(ns: i64) -> String {
    print::time(ns as f64)
}

/// A smallest time in the papers' way: `<0` where it is negative.
pub(super) fn least(ns: i64) -> String {
    if ns < 0 { "<0".into() } else { time(ns) }
}

/// A time behind which stands a quantile; `<0` where it fell among the negative ones.
pub(super) fn quantile(d: &Distribution, ns: i64) -> String {
    if d.n == 0 { "-".into() } else { least(ns) }
}

/// From the least to the longest: min, p50, p90, p99, p99.9, max.
pub(super) fn quantiles(d: &Distribution) -> [String; 6] {
    [d.min_ns, d.p50_ns, d.p90_ns, d.p99_ns, d.p999_ns, d.max_ns].map(|ns| quantile(d, ns))
}

/// A difference of two clocks, whole, with its sign.
pub(super) fn signed(ns: i64) -> String {
    format!("{}{}", if ns < 0 { "-" } else { "+" }, count(ns.unsigned_abs()))
}

pub(super) fn seconds(ns: u64) -> String {
    mean(ns as f64)
}

/// A count in three digits where it is long: `3.02M`.
pub(super) fn short_count(n: u64) -> String {
    Scale::Count.text(n as f64)
}

/// Where tenths would say more than is known.
pub(super) fn whole_percent(share: f64) -> String {
    if share.abs() < 9.995 { format!("{:.0} %", share * 100.0) } else { percent(share) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_negative_is_so_in_the_papers_way() {
        assert_eq!((least(-1), least(0), time(-119)), ("<0".into(), "0 ns".into(), "-119 ns".into()));
        assert_eq!((signed(-1_234), signed(5)), ("-1,234".into(), "+5".into()));
    }

    #[test]
    fn counts_are_short() {
        assert_eq!((short_count(3_015_000), short_count(99_999)), ("3.02M".into(), "99,999".into()));
    }
}
