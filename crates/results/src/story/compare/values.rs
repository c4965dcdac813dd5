//! Values and changes of a comparison, in their unit.

use netfathom_model::print::{self, grouped};

use crate::compare::{Compared, Outcome, Scale};
use crate::quantity::Unit;

/// From here on a ratio is a factor: its percentage would have five digits.
const FACTOR: f64 = 100.0;
/// Beyond it digits say nothing.
const BEYOND_SENSE: f64 = 1e6;
/// An interval from almost nothing to beyond this holds every change.
const ANY: f64 = 1000.0;

const NOTHING: &str = "-";
/// An interval that holds every change.
const UNKNOWN: &str = "unknown";

/// A value in its unit: `1.18 µs`, `452k/s`, `0.03 %`.
pub fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Nanoseconds => print::time(value),
        Unit::PerSecond => print::rate(value),
        Unit::BytesPerSecond => print::bit_rate(value),
        Unit::Share => percent(value),
        Unit::Ratio => figures(value),
        Unit::Count if value.fract() == 0.0 => grouped(value, 0),
        Unit::Count => figures(value),
    }
}

/// In three digits however little it is: two values that stand beside each other must not both be `<0.001`.
fn figures(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        v if v >= 0.0995 => print::decimals(v),
        v if v >= 0.0005 => 4,
        _ => return format!("{value:.1e}"),
    };
    grouped(value, decimals)
}

fn percent(part: f64) -> String {
    if part.abs() >= 9.995 {
        format!("{} %", grouped(100.0 * part, 0))
    } else {
        format!("{} %", figures(100.0 * part))
    }
}

/// A ratio as what it is more or less, or as a factor: `+5.2 %`, `×151`.
pub fn ratio(ratio: f64) -> String {
    let more = 100.0 * (ratio - 1.0);
    match more.abs() {
        _ if ratio > BEYOND_SENSE => format!("over ×{}", grouped(BEYOND_SENSE, 0)),
        _ if ratio >= FACTOR => format!("×{}", print::Scale::Multiple.text(ratio)),
        _ if more >= 999.5 => format!("+{} %", grouped(more, 0)),
        m if m >= 9.95 => format!("{more:+.0} %"),
        m if m >= 0.095 => format!("{more:+.1} %"),
        _ => format!("{more:+.2} %"),
    }
}

fn difference(unit: Unit, by: f64) -> String {
    let text = value(unit, by);
    let text = if unit == Unit::Share { text.replace(" %", " pp") } else { text };
    if by > 0.0 { format!("+{text}") } else { text }
}

/// How much it changed: `+5.2 %`, `-12 ns`.
pub fn change(quantity: &Compared) -> String {
    on_scale(quantity.unit, quantity.change.scale, quantity.change.value)
}

/// The interval that decides, `+3.1 % to +7.4 %`.
pub fn interval(quantity: &Compared) -> String {
    let Some((low, high)) = quantity.change.decided else { return NOTHING.into() };
    ends(quantity.unit, quantity.change.scale, low, high)
}

pub fn ends(unit: Unit, scale: Scale, low: f64, high: f64) -> String {
    if is_any(scale, low, high) {
        return UNKNOWN.into();
    }
    let [low, high] = [low, high].map(|end| on_scale(unit, scale, end));
    // The unit once, where both have the same.
    match low.rsplit_once(' ').zip(high.rsplit_once(' ')) {
        Some(((bare, unit), (_, of))) if unit == of && !unit.starts_with('×') => format!("{bare} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

pub fn is_any(scale: Scale, low: f64, high: f64) -> bool {
    scale == Scale::Ratio && low < 0.005 && high > ANY
}

pub fn on_scale(unit: Unit, scale: Scale, value: f64) -> String {
    match scale {
        Scale::Ratio => ratio(value),
        Scale::Difference => difference(unit, value),
    }
}

/// The smallest change that could have been detected. From twice on it is a factor, up or down: no time can be 100 % less.
pub fn smallest(quantity: &Compared) -> String {
    let written = |smallest: f64| match quantity.change.scale {
        Scale::Ratio if smallest >= FACTOR - 1.0 => ratio(1.0 + smallest),
        Scale::Ratio if smallest >= 1.0 => format!("×{}", figures(1.0 + smallest)),
        Scale::Ratio => percent(smallest),
        Scale::Difference => difference(quantity.unit, smallest).trim_start_matches('+').to_owned(),
    };
    quantity.smallest.map_or_else(|| NOTHING.into(), written)
}

/// What a quantity without a change is worth if only such factors could be detected.
pub fn coarse(quantity: &Compared) -> Option<&'static str> {
    let is_open = quantity.change.scale == Scale::Ratio && quantity.outcome == Outcome::CannotTell;
    quantity.smallest.filter(|smallest| is_open && *smallest >= 1.0).map(|_| {
        "too noisy to compare: only a change by the factor in column MDE, up or down, could be detected; more rounds or trials lower it"
    })
}

#[cfg(test)]
pub mod tests {
    use netfathom_model::verdict::Level;

    use crate::compare::Change;
    use crate::quantity::Better;

    use super::*;

    #[test]
    fn values_are_read_in_their_unit() {
        assert_eq!(value(Unit::Nanoseconds, 1184.0), "1.18 µs");
        assert_eq!(value(Unit::Nanoseconds, -3.0), "-3 ns");
        assert_eq!(value(Unit::PerSecond, 452_345.0), "452k/s");
        assert_eq!(value(Unit::Share, 0.0003), "0.0300 %");
        assert_eq!(value(Unit::Share, 0.0), "0 %");
        assert_eq!(value(Unit::Count, 12_000.0), "12,000");
    }

    #[test]
    fn a_ratio_is_what_it_is_more() {
        assert_eq!(
            [1.052, 0.97, 1.0004, 1.3, 2.4, 12.4, 0.1].map(ratio),
            ["+5.2 %", "-3.0 %", "+0.04 %", "+30 %", "+140 %", "+1,140 %", "-90 %"]
        );
    }

    #[test]
    fn a_large_ratio_is_a_factor() {
        assert_eq!([99.0, 151.0, 14_966.0].map(ratio), ["+9,800 %", "×151", "×15.0k"]);
        assert_eq!([1e7, f64::INFINITY].map(ratio), ["over ×1,000,000"; 2]);
        assert_eq!(value(Unit::Share, 150.0), "15,000 %");
    }

    #[test]
    fn both_ends_of_an_interval_share_a_unit() {
        let ends = |low, high| ends(Unit::Nanoseconds, Scale::Ratio, low, high);
        assert_eq!(ends(0.97, 1.3), "-3.0 to +30 %");
        assert_eq!(ends(0.139, 9.35), "-86 to +835 %");
        assert_eq!(ends(0.5, 1e30), "-50 % to over ×1,000,000");
        assert_eq!([ends(1e-9, 1e30), ends(1e-9, 9.35)], ["unknown", "-100 to +835 %"]);
        assert_eq!(ends(1e8, 1e30), "over ×1,000,000 to over ×1,000,000");
        let of_times = |low, high| super::ends(Unit::Nanoseconds, Scale::Difference, low, high);
        let shown = [of_times(1.2e6, 1.57e6), of_times(-50.0, 2e3)];
        assert_eq!(shown, ["+1.20 to +1.57 ms", "-50 ns to +2.00 µs"]);
    }

    pub fn of(name: &str, scale: Scale, value: f64, interval: Option<(f64, f64)>) -> Compared {
        Compared {
            name: name.into(),
            title: String::new(),
            unit: Unit::Count,
            better: Better::Less,
            main: true,
            level: Level::Valid,
            a: Vec::new(),
            b: Vec::new(),
            rounds: None,
            a_mean: 0.0,
            b_mean: 0.0,
            change: Change { scale, value, decided: interval, interval },
            chance: Some(1.0),
            smallest: None,
            outcome: Outcome::CannotTell,
            note: None,
        }
    }

    #[test]
    fn an_effect_from_twice_on_is_a_factor() {
        let found = |smallest, outcome| Compared {
            smallest: Some(smallest),
            outcome,
            ..of("rx.p99", Scale::Ratio, 1.3, None)
        };
        let open = |smallest| found(smallest, Outcome::CannotTell);
        assert_eq!([0.18, 8.02].map(|s| smallest(&open(s))), ["18.0 %", "×9.02"]);
        assert_eq!([0.18, 8.02].map(|s| coarse(&open(s)).is_some()), [false, true]);
        assert_eq!(coarse(&found(8.02, Outcome::Better)), None);
    }

    #[test]
    fn a_difference_of_shares_is_in_points() {
        assert_eq!(difference(Unit::Share, 0.02), "+2.00 pp");
        assert_eq!(difference(Unit::Count, -4.0), "-4");
    }
}
