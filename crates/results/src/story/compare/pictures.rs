//! Pictures of a comparison. The tables beside them have the figures.

use netfathom_model::record::Distribution;
use netfathom_stats as stats;

use super::{thresholds, values};
use crate::compare::{Compared, Comparison, Design, Gate, Gates, Outcome, Scale};
use crate::page::{Axis, Bar, BarGroup, Bars, Block, Chart, Color, Look, Page, Series, Table};
use crate::quantity::{Pooled, Unit};
use crate::story::histogram;

/// Bars of a picture, and choices of one.
const MOST_BARS: usize = 400;
const MOST_CHOICES: usize = 24;
/// The logarithm of the greatest ratio that has its place: a hundredfold.
const WIDEST: f64 = 4.605_170_185_988_092;
const SIDES: [(&str, Color); 2] = [("A", "tx"), ("B", "rx")];

type OfTimes = (&'static str, fn(&Distribution) -> f64);
const OF_TIMES: [OfTimes; 6] = [
    ("mean", |d| d.mean_ns),
    ("p50", |d| d.p50_ns as f64),
    ("p90", |d| d.p90_ns as f64),
    ("p99", |d| d.p99_ns as f64),
    ("p99.9", |d| d.p999_ns as f64),
    ("max", |d| d.max_ns as f64),
];

/// What changed by how much, the values of each trial, and the distributions of both sides.
pub(super) fn draw(page: &mut Page, comparison: &Comparison, gates: &Gates, number: usize) {
    let changes = changes(&comparison.quantities, gates);
    if !changes.groups[0].bars.is_empty() {
        page.heading("Change of each quantity");
        page.bars(changes);
    }
    let main = comparison.quantities.iter().filter(|q| q.main).enumerate().map(|(place, q)| {
        (q.name.clone(), Page::filled(|page| page.chart(values(q, format!("values-{number}-{place}")))))
    });
    let title = match comparison.design {
        Design::Apart => "Values of the trials",
        Design::Pairs => "Values of the rounds",
    };
    choice(page, title, "Quantity", main);
    let spreads = comparison.spreads.iter().enumerate().map(|(place, both)| {
        (both.0.name.clone(), Page::filled(|page| spread(page, both, &format!("spread-{number}-{place}"))))
    });
    choice(page, "Distributions", "Distribution", spreads);
}

fn choice(
    page: &mut Page,
    title: &str,
    label: &'static str,
    options: impl Iterator<Item = (String, Vec<Block>)>,
) {
    let options: Vec<_> = options.take(MOST_CHOICES).collect();
    if !options.is_empty() {
        page.heading(title);
        page.choice(label, options);
    }
}

fn changes(quantities: &[Compared], gates: &Gates) -> Bars {
    let with_ratio = quantities.iter().filter(|q| q.change.scale == Scale::Ratio && q.change.value > 0.0);
    let with_a_threshold = quantities.iter().any(|quantity| gates.tested(&quantity.name).is_some());
    let key =
        [("better", "valid"), ("worse", "void"), ("not significant", "lag"), ("with a threshold", "planned")];
    let shown = key.into_iter().filter(|(_, color)| with_a_threshold || *color != "planned");
    Bars {
        title: "B as a multiple of A".into(),
        unit: Axis::Ratio,
        from_zero: true,
        whiskers: "intervals at the level that decides",
        key: shown.map(|(name, color)| (name.to_owned(), color)).collect(),
        groups: vec![BarGroup {
            name: String::new(),
            mark: None,
            bars: with_ratio.take(MOST_BARS).map(|q| change(q, gates.tested(&q.name))).collect(),
        }],
        ..Bars::default()
    }
}

/// Equal ratios have equal lengths. What has a threshold is decided by that alone.
fn change(quantity: &Compared, gate: Option<&Gate>) -> Bar {
    let place = |ratio: f64| ratio.max(f64::MIN_POSITIVE).ln().clamp(-WIDEST, WIDEST);
    let color = match quantity.outcome {
        _ if gate.is_some() => "planned",
        Outcome::Better => "valid",
        Outcome::Worse => "void",
        Outcome::CannotTell | Outcome::Same => "lag",
    };
    let outcome = gate.map_or_else(|| quantity.conclusion(), |gate| thresholds::passage(gate.passage));
    // The axis has no place for one in a unit.
    let of_gate = gate.filter(|gate| gate.change.is_some_and(|change| change.scale == Scale::Ratio));
    let interval = match of_gate {
        Some(gate) => gate.interval.map(|interval| (interval.low, interval.high)),
        None => quantity.change.decided,
    };
    Bar {
        name: quantity.name.clone(),
        about: quantity.title.clone(),
        color,
        value: Some(place(quantity.change.value)),
        ends: interval.map(|(low, high)| (place(low), place(high))),
        band: None,
        is_chance: color == "lag",
        text: format!("{} {outcome}", values::change(quantity)),
    }
}

fn values(quantity: &Compared, id: String) -> Chart {
    let (y, factor, of) = match quantity.unit {
        Unit::Nanoseconds => (Axis::Time, 1.0, ""),
        Unit::BytesPerSecond => (Axis::BitRate, 8.0, ""),
        Unit::Share => (Axis::Share, 1.0, ""),
        Unit::PerSecond => (Axis::Number, 1.0, " a second"),
        Unit::Ratio | Unit::Count => (Axis::Number, 1.0, ""),
    };
    let (x, about, numbers) = match &quantity.rounds {
        Some(rounds) => (Axis::Round, "A value a run of A and of B, by round.", rounds.clone()),
        None => {
            let trials = quantity.a.len().max(quantity.b.len());
            (Axis::Trial, "A value a trial of A and of B.", (1..=trials).collect())
        }
    };
    let side = |((label, color), values): ((&str, Color), &Vec<f64>)| Series {
        values: (0..numbers.len()).map(|place| values.get(place).map(|value| value * factor)).collect(),
        ..Series::new(label, color, Look::Dots)
    };
    Chart {
        id,
        title: quantity.title.clone(),
        about: about.into(),
        x,
        y,
        y_label: if y == Axis::Number { format!("{}{of}", quantity.title) } else { String::new() },
        height: 220,
        xs: numbers.iter().map(|&number| number as f64).collect(),
        series: SIDES.into_iter().zip([&quantity.a, &quantity.b]).map(side).collect(),
        ..Chart::default()
    }
}

fn spread(page: &mut Page, (a, b): &(Pooled, Pooled), id: &str) {
    let both = [&a.times, &b.times];
    let sets = both.map(stats::Distribution::from);
    let curves = SIDES
        .iter()
        .zip(&sets)
        .map(|(&(label, color), times)| (Series::new(label, color, Look::Area), times));
    histogram::draw(page, id, &a.name, curves.collect());
    let mut table = Table::of("<|A|B");
    let mut row = |what: &str, unit: Unit, of: fn(&Distribution) -> f64| {
        let [a, b] = both.map(|times| values::value(unit, of(times)));
        table.row([what.to_owned(), a, b]);
    };
    row("n", Unit::Count, |d| d.n as f64);
    row("below zero", Unit::Count, |d| d.negative as f64);
    OF_TIMES.iter().for_each(|&(what, of)| row(what, Unit::Nanoseconds, of));
    page.table(table);
}
