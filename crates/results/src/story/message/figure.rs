//! What a benchmark is read by, and how it is written.

use netfathom_model::plan::{MessagePlan, MessageTest};
use netfathom_model::print::{NOT_KNOWN, Scale};
use netfathom_model::record::{Estimate, MessageCell};
use netfathom_model::verdict::Level;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    Messages,
    /// Bytes of replies a second.
    Bytes,
    /// The median of the times in nanoseconds: of a round trip, or until arrival.
    Time,
}

/// A value, and half its 95 % interval between trials; `None` below two trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figure {
    pub value: f64,
    pub half_width: Option<f64>,
}

impl Figure {
    /// Whether the interval holds `x`. One that is not known tells nothing apart.
    pub fn holds(self, x: f64) -> bool {
        self.half_width.is_none_or(|half| (self.value - x).abs() <= half)
    }

    /// Whether the interval reaches zero: then it says nothing of a rate, a time or a multiple.
    pub fn too_wide(self) -> bool {
        self.half_width.is_some_and(|half| half > 0.0 && half >= self.value.abs())
    }

    fn on(self, scale: Scale) -> String {
        if self.too_wide() {
            return format!("{} ± {TOO_WIDE}", scale.text(self.value));
        }
        scale.interval(self.value, self.half_width)
    }
}

impl From<Estimate> for Figure {
    fn from(e: Estimate) -> Self {
        Self { value: e.value, half_width: Some(e.half_width) }
    }
}

impl Quantity {
    /// Rates say nothing where the round trip is what is asked for, or where they were given.
    pub fn of(plan: &MessagePlan) -> Self {
        match plan.test {
            _ if plan.is_of_times() => Self::Time,
            MessageTest::Post => Self::Bytes,
            _ => Self::Messages,
        }
    }

    pub fn name(self, plan: &MessagePlan) -> &'static str {
        match (self, plan.test) {
            (Self::Messages, _) => "messages a second",
            (Self::Bytes, _) => "bytes a second",
            (Self::Time, MessageTest::Oneway) => "median time to arrival",
            (Self::Time, _) => "median round trip",
        }
    }

    /// Of the trials of a cell: the mean with its interval, or what there is of a single one.
    pub fn of_cell(self, plan: &MessagePlan, cell: &MessageCell) -> Option<Figure> {
        match self {
            Self::Messages => rate(cell),
            Self::Bytes => rate(cell).map(|rate| Figure {
                value: rate.value * cell.bytes as f64,
                half_width: rate.half_width.map(|half| half * cell.bytes as f64),
            }),
            Self::Time => median_time(plan, cell),
        }
    }

    pub fn ratio_name(self, test: MessageTest) -> &'static str {
        match (self, test) {
            (Self::Time, MessageTest::Oneway) => "ratio of median times",
            (Self::Time, _) => "ratio of median round trips",
            _ => "ratio of rates",
        }
    }

    /// As a multiple of the first layer's. Of times it is worked out from the medians of the trials,
    /// pair by pair of the rounds that both have.
    pub fn ratio(self, plan: &MessagePlan, cell: &MessageCell, reference: &MessageCell) -> Option<Figure> {
        let known = if self == Self::Time { cell.ratio_of_times(reference, plan) } else { cell.ratio };
        known.map(Into::into).or_else(|| {
            let (ours, theirs) = (self.of_cell(plan, cell)?.value, self.of_cell(plan, reference)?.value);
            (theirs > 0.0).then_some(Figure { value: ours / theirs, half_width: None })
        })
    }

    /// With half its interval: `1.74M ± 0.02M`, `4.60 µs ± 0.05`.
    pub fn text(self, figure: Figure) -> String {
        figure.on(self.scale())
    }

    /// Of a cell; `VOID` of one that is, `n/a` where it has none.
    pub fn cell_text(self, plan: &MessagePlan, cell: &MessageCell) -> String {
        if cell.is_void() {
            return Level::Void.name().into();
        }
        self.of_cell(plan, cell).map_or_else(|| NOT_KNOWN.into(), |figure| self.text(figure))
    }

    /// Of a cell as a multiple of the first layer's; `VOID` where either is.
    pub fn ratio_text(self, plan: &MessagePlan, cell: &MessageCell, reference: &MessageCell) -> String {
        if cell.is_void() || reference.is_void() {
            return Level::Void.name().into();
        }
        ratio(self.ratio(plan, cell, reference))
    }

    pub fn value(self, value: f64) -> String {
        self.scale().text(value)
    }

    fn scale(self) -> Scale {
        match self {
            Self::Messages => Scale::Multiple,
            Self::Bytes => Scale::ByteRate,
            Self::Time => Scale::Time,
        }
    }
}

fn rate(cell: &MessageCell) -> Option<Figure> {
    let rate = cell.rate?;
    let mean = rate.mean_per_s.map(Figure::from);
    Some(mean.unwrap_or(Figure { value: rate.median_per_s, half_width: None }))
}

fn median_time(plan: &MessagePlan, cell: &MessageCell) -> Option<Figure> {
    let single = (cell.times.n > 0).then_some(Figure { value: cell.times.p50_ns as f64, half_width: None });
    cell.median_time_ns(plan).map(Figure::from).or(single)
}

/// Half of an interval that reaches zero: its figures would say no more, and be wide.
const TOO_WIDE: &str = ">100 %";

/// A multiple with half its interval: `2.31 ± 0.05`; `n/a` where there is none.
pub(super) fn ratio(figure: Option<Figure>) -> String {
    figure.map_or_else(|| NOT_KNOWN.into(), |figure| figure.on(Scale::Ratio))
}

/// How much of something a message took: `1.00`, `0.034`, `20,412`; `n/a` where it is not known.
pub(super) fn each(value: Option<f64>) -> String {
    value.map_or_else(|| NOT_KNOWN.into(), |value| Scale::Ratio.text(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, half: f64) -> Figure {
        Figure { value, half_width: Some(half) }
    }

    #[test]
    fn units_are_those_of_the_value() {
        assert_eq!(Quantity::Messages.text(figure(1_740_000.0, 21_000.0)), "1.74M ± 0.02M");
        assert_eq!(Quantity::Messages.value(523.0), "523");
        assert_eq!([4.12e9, 1234.0].map(|v| Quantity::Bytes.value(v)), ["4.12 GB/s", "1.23 kB/s"]);
        assert_eq!(Quantity::Time.value(4600.0), "4.60 µs");
    }

    #[test]
    fn an_interval_that_reaches_zero_is_too_wide() {
        let wide = figure(306.0, 29_080_947_360_123.0);
        assert!(wide.too_wide() && figure(2.0, 2.0).too_wide());
        assert!(!figure(2.0, 1.99).too_wide() && !figure(0.0, 0.0).too_wide());
        assert_eq!(ratio(Some(wide)), "306 ± >100 %");
        assert_eq!(Quantity::Time.text(figure(4600.0, 5000.0)), "4.60 µs ± >100 %");
        assert_eq!(Quantity::Messages.text(figure(1_740_000.0, 2e6)), "1.74M ± >100 %");
    }

    #[test]
    fn little_is_not_nothing() {
        let written = [0.0, 0.0001, 0.034, 1.0, 20_412.4].map(|v| each(Some(v)));
        assert_eq!(written, ["0", "<0.001", "0.034", "1.00", "20,412"]);
        assert_eq!(ratio(None), "n/a");
        assert_eq!(each(None), "n/a");
    }
}
