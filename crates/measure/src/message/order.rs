//! The cells of a plan, and the order of their trials.

use netfathom_model::layer::{Form, Layer};
use netfathom_model::plan::{Carrier, MessagePlan, MessageTest, Placement};
use netfathom_model::random::SplitMix64;
use netfathom_model::record::{AbsentCell, ProcessorPair};

use super::kernel;

/// One layer with one size, one placement and one pair of processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// What carries the messages.
    pub layer: Layer,
    /// Bytes of a body, or of a reply.
    pub bytes: u64,
    /// Which ends are in the kernel.
    pub placement: Placement,
    /// Its place among the pairs.
    pub pair: usize,
}

/// One trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Of which cell.
    pub cell: Cell,
    /// In which round of trials.
    pub round: u32,
}

/// All trials: the layers of a point follow each other, in an order that each round shuffles anew,
/// so that what drifts on the machine drifts for all of them; and what there can be none of.
pub fn of(plan: &MessagePlan, pairs: &[ProcessorPair]) -> (Vec<Turn>, Vec<AbsentCell>) {
    let mut random = SplitMix64::new(plan.seed);
    let mut turns = Vec::new();
    let absent = absent(plan);
    for round in 0..plan.trials {
        for (placement, pair, bytes) in points(plan, pairs.len()) {
            let mut layers = layers(plan, placement);
            shuffle(&mut layers, &mut random);
            let cell = |layer| Cell { layer, bytes, placement, pair };
            turns.extend(layers.into_iter().map(|layer| Turn { cell: cell(layer), round }));
        }
    }
    (turns, absent)
}

/// How many cells there are.
pub fn cells(turns: &[Turn]) -> usize {
    turns.iter().filter(|turn| turn.round == 0).count()
}

fn points(plan: &MessagePlan, pairs: usize) -> Vec<(Placement, usize, u64)> {
    let mut points = Vec::new();
    for &placement in &plan.placements {
        for pair in 0..pairs {
            points.extend(plan.sizes_bytes.iter().map(|&bytes| (placement, pair, bytes)));
        }
    }
    points
}

/// Fisher and Yates; that the rest of a division is not quite even matters to nobody here.
fn shuffle<T>(items: &mut [T], random: &mut SplitMix64) {
    for last in (1..items.len()).rev() {
        items.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
    }
}

/// The layers that there can be in a placement, and what is nearest where there can be none.
fn layers(plan: &MessagePlan, placement: Placement) -> Vec<Layer> {
    let can = |layer: &&Layer| why_not(plan, placement, layer).is_none();
    let mut layers: Vec<Layer> = plan.layers.iter().filter(can).cloned().collect();
    if layers.is_empty() && sends_over_tcp(plan, placement) {
        layers.push(Layer::Bare { form: Form::Sendfile, options: Vec::new() });
    }
    layers
}

/// Whether a client in the kernel is to send over TCP by itself, which there is not.
fn sends_over_tcp(plan: &MessagePlan, placement: Placement) -> bool {
    plan.test == MessageTest::Oneway && plan.carrier == Carrier::Tcp && placement.kernel_client()
}

fn absent(plan: &MessagePlan) -> Vec<AbsentCell> {
    let of = |&placement: &Placement| {
        plan.layers.iter().filter_map(move |layer| {
            let (why, nearest) = why_not(plan, placement, layer)?;
            Some(AbsentCell {
                placement,
                layer: Some(layer.clone()),
                why: why.into(),
                nearest: nearest.into(),
            })
        })
    };
    plan.placements.iter().flat_map(of).collect()
}

/// Why there is no such cell, and what is nearest to it.
fn why_not(plan: &MessagePlan, placement: Placement, layer: &Layer) -> Option<(&'static str, &'static str)> {
    if placement == Placement::UU {
        return None;
    }
    let sendfile = matches!(layer, Layer::Bare { form: Form::Sendfile, .. });
    if sends_over_tcp(plan, placement) {
        return (!sendfile).then_some((
            "nothing in the kernel sends messages over TCP by itself",
            "sendfile: many messages a call, out of a file in memory without a copy",
        ));
    }
    if plan.test == MessageTest::Oneway && placement.kernel_client() {
        return Some((
            "no program that a socket can be given to sends datagrams by itself",
            "netfathom load send --engine xdp: frames that a program writes in the driver",
        ));
    }
    kernel::why_not(plan.test, layer, placement == Placement::KK)
}
