//! Cells by placement and pair of processors, with the names of both.

use itertools::Itertools as _;
use netfathom_model::layer::Layer;
use netfathom_model::plan::{MessagePlan, Placement};
use netfathom_model::record::{MessageCell, MessageResult, ProcessorPair, Shares};

/// Cells of one placement on one pair of processors.
pub(super) struct Group<'a> {
    pub placement: Placement,
    pub pair: usize,
    cells: Vec<&'a MessageCell>,
}

impl<'a> Group<'a> {
    /// Such as `UK on CPU 1 alone`.
    pub fn name(&self, result: &MessageResult) -> String {
        let placement = match result.plan.placements[..] {
            [Placement::UU] => "Ends",
            _ => self.placement.name(),
        };
        format!("{placement} on {}", pair(result, self.pair))
    }

    pub fn cell(&self, layer: &Layer, bytes: u64) -> Option<&'a MessageCell> {
        self.cells.iter().copied().find(|cell| cell.layer == *layer && cell.bytes == bytes)
    }

    /// The same, if its values are of use.
    pub fn usable(&self, layer: &Layer, bytes: u64) -> Option<&'a MessageCell> {
        self.cell(layer, bytes).filter(|cell| !cell.is_void())
    }

    /// That of the first layer, which the others are compared with.
    pub fn reference(&self, plan: &MessagePlan, bytes: u64) -> Option<&'a MessageCell> {
        self.cell(plan.layers.first()?, bytes)
    }

    /// The layers with results, in the order of the plan; behind them what stands in
    /// for a layer that cannot be.
    pub fn layers<'p>(&self, plan: &'p MessagePlan) -> Vec<&'p Layer>
    where
        'a: 'p,
    {
        layers_of(plan, self.cells.iter().copied())
    }

    /// The sizes with results, from the smallest.
    pub fn sizes(&self) -> Vec<u64> {
        sizes(self.cells.iter().copied())
    }
}

/// The groups with results: placements in the order of the plan, and in each the
/// pairs in theirs.
pub(super) fn groups(result: &MessageResult) -> Vec<Group<'_>> {
    let mut all: Vec<Group<'_>> = Vec::new();
    for &placement in &result.plan.placements {
        // A pair that a damaged record does not name is drawn as well.
        let last = result.cells.iter().map(|cell| cell.pair).max().unwrap_or(0);
        for pair in 0..=last.min(result.cells.len()) {
            let of_it = |cell: &&MessageCell| cell.placement == placement && cell.pair == pair;
            let cells: Vec<&MessageCell> = result.cells.iter().filter(of_it).collect();
            if !cells.is_empty() {
                all.push(Group { placement, pair, cells });
            }
        }
    }
    all
}

/// All layers with results, in the order of [`Group::layers`].
pub(super) fn layers(result: &MessageResult) -> Vec<&Layer> {
    layers_of(&result.plan, result.cells.iter())
}

fn layers_of<'p>(plan: &'p MessagePlan, cells: impl Iterator<Item = &'p MessageCell>) -> Vec<&'p Layer> {
    let there: Vec<&Layer> = cells.map(|cell| &cell.layer).collect();
    let planned = plan.layers.iter().filter(|layer| there.contains(layer));
    planned.chain(there.iter().copied()).unique().collect()
}

/// What stands in for layers that cannot run, and for which: the plan does not name it.
pub(super) fn stand_ins(result: &MessageResult) -> Vec<String> {
    let stands_in = |layer: &&Layer| !result.plan.layers.contains(layer);
    layers(result).into_iter().filter(stands_in).map(|layer| stands_in_for(result, layer)).collect()
}

fn stands_in_for(result: &MessageResult, layer: &Layer) -> String {
    let of_it = |p: &Placement| result.cells.iter().any(|c| c.placement == *p && c.layer == *layer);
    let places: Vec<Placement> = result.plan.placements.iter().copied().filter(of_it).collect();
    let absent = result.absent.iter().filter(|cell| places.contains(&cell.placement));
    let absent = absent.map(|cell| layer_or_all(cell.layer.as_ref())).unique().join(", ");
    let places = places.into_iter().map(Placement::name).join(" and ");
    format!("{layer}: the nearest to what cannot be in {places}: {absent}")
}

/// All sizes with results, from the smallest.
pub(super) fn all_sizes(result: &MessageResult) -> Vec<u64> {
    sizes(result.cells.iter())
}

fn sizes<'a>(cells: impl Iterator<Item = &'a MessageCell>) -> Vec<u64> {
    cells.map(|cell| cell.bytes).sorted_unstable().dedup().collect()
}

/// The processors of the ends: `processors 0 and 1 (apart)`.
pub(super) fn pair(result: &MessageResult, place: usize) -> String {
    match result.pairs.get(place) {
        None => "CPUs that the record does not name".into(),
        Some(ProcessorPair { shares: Shares::Hosts, client, server }) => {
            format!("CPU {client} and, at the server, CPU {server}")
        }
        Some(ProcessorPair { client, server, .. }) if client == server => format!("CPU {client} alone"),
        Some(ProcessorPair { shares, client, server }) => {
            format!("CPUs {client} and {server} ({})", shares.name())
        }
    }
}

/// A layer's name, or that all are meant.
pub(super) fn layer_or_all(layer: Option<&Layer>) -> String {
    layer.map_or_else(|| "every layer".into(), ToString::to_string)
}

/// Which ends are in the kernel, in words.
pub(super) fn placement(placement: Placement) -> &'static str {
    match placement {
        Placement::UU => "both ends in user space",
        Placement::KU => "client in the kernel",
        Placement::UK => "server in the kernel",
        Placement::KK => "both ends in the kernel",
    }
}

/// A cell in words, without its size.
pub(super) fn cell_name(result: &MessageResult, cell: &MessageCell) -> String {
    format!("{}, {}, {}", cell.layer, cell.placement.name(), pair(result, cell.pair))
}
