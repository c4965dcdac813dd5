//! Pictures of cells: over the size, by percentile, and placements beside each other.

use netfathom_model::layer::{Layer, Strategy};
use netfathom_model::plan::{MessagePlan, MessageTest, Placement};
use netfathom_model::print::count;
use netfathom_model::record::{MessageCell, MessageResult};

use super::figure::{Figure, Quantity};
use super::groups::{self, Group};
use super::plan::size_name;
use crate::page::{Axis, Bar, BarGroup, Bars, Block, Chart, Color, Look, Mark, Series};
use crate::story::curves;

const BARE_COLORS: [Color; 4] = ["rate", "cpu-steal", "cpu-system", "cpu-irq"];

/// A layer has the same look in every picture: the library has a strong color a strategy, bare sockets have colors and
/// dashes.
fn line(result: &MessageResult, layer: &Layer) -> Series {
    let of_library = |strategy: &Strategy| match strategy {
        Strategy::Adaptive => "tx",
        Strategy::Inline => "call",
        Strategy::Thread | Strategy::Zccl => "rx",
        Strategy::Batch => "lag",
    };
    let (color, look) = match layer {
        Layer::Library { strategy } => (of_library(strategy), Look::Strong),
        Layer::Bare { .. } => {
            let all = groups::layers(result);
            let place = all.iter().filter(|l| l.is_bare()).position(|other| *other == layer).unwrap_or(0);
            let again = place / Look::QUIET.len();
            (BARE_COLORS[(place + again) % BARE_COLORS.len()], Look::QUIET[place % Look::QUIET.len()])
        }
    };
    Series::new(layer.to_string(), color, look)
}

fn axis(plan: &MessagePlan) -> Axis {
    match Quantity::of(plan) {
        Quantity::Messages => Axis::LogRate,
        Quantity::Bytes => Axis::LogByteRate,
        Quantity::Time => Axis::LogTime,
    }
}

fn capitalized(text: &str) -> String {
    text[..1].to_uppercase() + &text[1..]
}

/// The figure of each layer over the size; `None` where no cell has one.
pub(super) fn over_size(result: &MessageResult, group: &Group<'_>) -> Option<Chart> {
    let (plan, quantity) = (&result.plan, Quantity::of(&result.plan));
    let sizes = group.sizes();
    let figure = |layer: &Layer, bytes: u64| {
        let figure = group.usable(layer, bytes).and_then(|cell| quantity.of_cell(plan, cell));
        figure.filter(|figure| figure.value > 0.0)
    };
    let of_layer = |&layer: &&Layer| {
        let series = line(result, layer);
        let figures: Vec<Option<Figure>> = sizes.iter().map(|&bytes| figure(layer, bytes)).collect();
        let values = figures.iter().map(|figure| figure.map(|figure| figure.value)).collect();
        let marks = figures.iter().map(|figure| figure.map(|figure| mark(series.color, figure))).collect();
        Series { values, marks, ..series }
    };
    let mut series: Vec<Series> = group.layers(plan).iter().map(of_layer).collect();
    series.retain(|series| series.values.iter().any(Option::is_some));
    (!series.is_empty()).then(|| Chart {
        id: format!("message-{}-{}", group.placement.name(), group.pair),
        title: capitalized(quantity.name(plan)),
        about: "Both axes are logarithmic; a line for each layer.".into(),
        x: Axis::Named,
        y: axis(plan),
        height: 300,
        xs: sizes.iter().map(|&bytes| (bytes.max(1) as f64).log2()).collect(),
        names: sizes.iter().map(|&bytes| count(bytes)).collect(),
        x_label: size_name(plan).into(),
        series,
        note: Some("Whiskers are 95 % intervals between trials; an interval that reaches zero has none."),
        ..Chart::default()
    })
}

fn mark(color: Color, figure: Figure) -> Mark {
    let half = figure.half_width.filter(|_| !figure.too_wide()).unwrap_or(0.0);
    Mark { color: color.into(), shape: "dot", ends: (figure.value - half, figure.value + half) }
}

/// Times with one size by percentile, for each placement and pair that has enough of them.
pub(super) fn percentiles(result: &MessageResult, bytes: u64) -> Vec<(String, Vec<Block>)> {
    let title = match result.plan.test {
        MessageTest::Oneway => "Time to arrival by percentile",
        _ => "Round trip by percentile",
    };
    let of_group = |group: &Group<'_>| {
        let lines = group
            .layers(&result.plan)
            .into_iter()
            .filter_map(|layer| Some((line(result, layer), &group.usable(layer, bytes)?.times)))
            .collect();
        let id = format!("message-times-{}-{}-{bytes}", group.placement.name(), group.pair);
        Some((group.name(result), vec![Block::Chart(curves::by_percentile(&id, title, lines)?)]))
    };
    groups::groups(result).iter().filter_map(of_group).collect()
}

/// A bar for each placement, layer by layer, a choice of size.
pub(super) fn placements(result: &MessageResult, groups: &[&Group<'_>]) -> Vec<(String, Vec<Block>)> {
    let quantity = Quantity::of(&result.plan);
    let bar = |group: &Group<'_>, cell: &MessageCell| {
        let figure = quantity.of_cell(&result.plan, cell)?;
        Some(Bar {
            name: group.placement.name().into(),
            about: groups::placement(group.placement).into(),
            color: color(group.placement),
            value: Some(figure.value),
            ends: Some(mark("", figure).ends),
            text: quantity.text(figure),
            ..Bar::default()
        })
    };
    let of_size = |bytes: u64| {
        let of_layer = |layer: &Layer| {
            let bars =
                groups.iter().filter_map(|group| bar(group, group.usable(layer, bytes)?)).collect::<Vec<_>>();
            (!bars.is_empty()).then(|| BarGroup { name: layer.to_string(), mark: None, bars })
        };
        let of_layers: Vec<BarGroup> = groups::layers(result).into_iter().filter_map(of_layer).collect();
        let key = |group: &&Group<'_>| {
            let placement = group.placement;
            (format!("{}: {}", placement.name(), groups::placement(placement)), color(placement))
        };
        let bars = Bars {
            unit: axis(&result.plan),
            key: groups.iter().map(key).collect(),
            groups: of_layers,
            ..Bars::default()
        };
        (!bars.groups.is_empty()).then(|| (count(bytes), vec![Block::Bars(bars)]))
    };
    groups::all_sizes(result).into_iter().filter_map(of_size).collect()
}

fn color(placement: Placement) -> Color {
    match placement {
        Placement::UU => "rate",
        Placement::KU => "rx",
        Placement::UK => "tx",
        Placement::KK => "call",
    }
}
