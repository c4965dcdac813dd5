//! Pictures of differences: over the load, and beside nothing.

use itertools::Itertools as _;
use netfathom_model::record::{Comparison, CostBenchmark, CostResult, Effect, Outcome};

use super::comparison::{level, row_name};
use super::figure::{Figure, slowdown};
use super::{answer, comparison};
use crate::page::{Axis, Bar, BarGroup, Bars, Chart, Color, Mark, Series, shortened};

/// Letters of a name beside its bar.
const LONGEST_NAME: usize = 60;

pub(super) fn color(effect: Effect) -> Color {
    match effect {
        Effect::Program => "rx",
        Effect::Load => "planned",
        Effect::Both => "lag",
        Effect::Observation => "call",
    }
}

pub(super) fn is_chance(outcome: Outcome) -> bool {
    !matches!(outcome, Outcome::Cost | Outcome::Faster)
}

/// The loads of the comparisons, each once.
fn loads(result: &CostResult) -> Vec<String> {
    let levels = result.conditions.iter().filter_map(|condition| condition.level.as_ref());
    levels.map(|level| level.text.clone()).unique().collect()
}

/// The slowdown over the load, a line for each effect; `None` where there are no loads.
pub(super) fn over_load(result: &CostResult, benchmark: &CostBenchmark, place: usize) -> Option<Chart> {
    let loads = loads(result);
    let at = |effect: Effect, load: &String| {
        let has = |c: &&Comparison| level(result, c).is_some_and(|level| level.text == *load);
        benchmark.of_effect(effect).find(has).map(slowdown)
    };
    let line = |effect: Effect| {
        let figures: Vec<Option<Figure>> = loads.iter().map(|load| at(effect, load)).collect();
        Series {
            label: effect.name().into(),
            color: color(effect),
            values: figures.iter().map(|f| f.map(|f| f.value).filter(|v| v.is_finite())).collect(),
            marks: figures.iter().map(|f| f.map(|f| mark(effect, f))).collect(),
            ..Series::default()
        }
    };
    let effects = comparison::effects(result, benchmark);
    let lines = effects.into_iter().filter(|effect| *effect != Effect::Observation).map(line);
    let series: Vec<Series> = lines.filter(|s| s.values.iter().any(Option::is_some)).collect();
    (loads.len() > 1 && !series.is_empty()).then(|| Chart {
        id: format!("cost-{place}"),
        title: format!("Slowdown of {}", benchmark.name),
        about: "How much longer the benchmark takes over the load, a line for each effect.".into(),
        x: Axis::Named,
        y: Axis::Share,
        height: 300,
        xs: (0..loads.len()).map(|load| load as f64).collect(),
        names: loads,
        x_label: "load".into(),
        series,
        note: Some("Loads are equally far apart. Whiskers are 99 % intervals between blocks."),
        ..Chart::default()
    })
}

fn mark(effect: Effect, figure: Figure) -> Mark {
    let ends = figure.ends().unwrap_or((figure.value, figure.value));
    Mark { color: color(effect).into(), shape: "dot", ends }
}

/// The slowdown of every comparison, benchmark by benchmark, with what could not have been significant.
pub(super) fn slowdowns(result: &CostResult) -> Option<Bars> {
    let group = |benchmark: &CostBenchmark| BarGroup {
        name: shortened(&benchmark.name, LONGEST_NAME),
        mark: None,
        bars: benchmark
            .comparisons
            .iter()
            .map(|c| Bar {
                about: answer::sentence(result, benchmark, c),
                band: c.smallest,
                ..bar(&row_name(result, c), c.effect, slowdown(c), is_chance(c.outcome))
            })
            .collect(),
    };
    let with_some = result.benchmarks.iter().filter(|b| !b.comparisons.is_empty());
    let groups: Vec<BarGroup> = with_some.map(group).collect();
    let key = Effect::ALL
        .into_iter()
        .filter(|effect| result.benchmarks.iter().any(|b| b.of_effect(*effect).next().is_some()))
        .map(|effect| (effect.name().to_owned(), color(effect)))
        .collect();
    let whiskers = "99 % intervals, which decide";
    (!groups.is_empty()).then(|| Bars {
        unit: Axis::Share,
        from_zero: true,
        key,
        whiskers,
        groups,
        ..Bars::default()
    })
}

pub(super) fn bar(name: &str, effect: Effect, figure: Figure, is_chance: bool) -> Bar {
    Bar {
        name: shortened(name, LONGEST_NAME),
        color: color(effect),
        value: Some(figure.value),
        ends: figure.ends(),
        is_chance,
        text: figure.percent(),
        ..Bar::default()
    }
}

/// Bars of one comparison, from zero.
pub(super) fn beside_zero(unit: Axis, title: &str, bars: Vec<Bar>) -> Bars {
    let groups = vec![BarGroup { name: String::new(), mark: None, bars }];
    Bars { title: title.to_owned(), unit, from_zero: true, groups, ..Bars::default() }
}
