//! The cells of a plan, and the order of their trials.

use netfathom_model::layer::{Form, Layer};
use netfathom_model::plan::{Carrier, MessagePlan, MessageTest, Placement};
use netfathom_model::random::SplitMix64;
use netfathom_model::record::{AbsentCell, ProcessorPair};

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

/// The layers that there can be in a placement.
fn layers(plan: &MessagePlan, placement: Placement) -> Vec<Layer> {
    plan.layers.iter().filter(|layer| why_not(plan, placement, layer).is_none()).cloned().collect()
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
    if let Layer::Peer { .. } = layer {
        return Some((
            "both its ends speak a protocol of their own, which no program of the kernel does",
            "bare sockets or the library at the user's end",
        ));
    }
    let sendfile = matches!(layer, Layer::Bare { form: Form::Sendfile, .. });
    match (plan.test, plan.carrier) {
        (MessageTest::Post, _) => Some((
            "no program of the kernel makes a bulk reply out of a request, or a request out of a reply",
            "pingpong with --sizes of the reply: the kernel sends as much back as came",
        )),
        (MessageTest::Oneway, Carrier::Tcp) if placement.kernel_client() && !sendfile => Some((
            "nothing in the kernel sends messages over TCP by itself",
            "sendfile: many messages a call, out of a file in memory without a copy",
        )),
        _ => None,
    }
}
