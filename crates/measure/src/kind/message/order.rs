//! The cells of a plan, and the order of their trials.

use itertools::iproduct;
use netfathom_model::grouping::by_key;
use netfathom_model::layer::{Form, Layer};
use netfathom_model::plan::{Carrier, MessagePlan, MessageTest, Placement};
use netfathom_model::random::SplitMix64;
use netfathom_model::record::AbsentCell;

use super::{driver, kernel};

/// One layer with one size, one placement and one pair of processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    pub layer: Layer,
    /// Bytes of a body, or of a reply.
    pub bytes: u64,
    pub placement: Placement,
    pub pair: usize,
}

/// Rounds without end, each with a trial of every cell: the layers of a point follow each other, in an order that each
/// round shuffles anew, so that what drifts on the machine drifts for all of them.
pub struct Order {
    /// The cells of each point: they differ in their layers.
    points: Vec<Vec<Cell>>,
    random: SplitMix64,
}

impl Order {
    pub fn of(plan: &MessagePlan, pairs: usize, refusals: &Refusals) -> Self {
        let points = iproduct!(&plan.placements, 0..pairs, &plan.sizes_bytes);
        let cells = |(&placement, pair, &bytes): (&Placement, usize, &u64)| {
            let layers = layers(plan, placement, bytes, refusals).into_iter();
            layers.map(|layer| Cell { layer, bytes, placement, pair }).collect()
        };
        Self { points: points.map(cells).collect(), random: SplitMix64::new(plan.seed) }
    }

    /// Trials of a round.
    pub fn cells(&self) -> usize {
        self.points.iter().map(Vec::len).sum()
    }
}

impl Iterator for Order {
    type Item = Vec<Cell>;

    fn next(&mut self) -> Option<Vec<Cell>> {
        let mut points = self.points.clone();
        points.iter_mut().for_each(|cells| self.random.shuffle(cells));
        Some(points.concat())
    }
}

/// The layers that there can be of a point, and what is nearest where there can be none.
fn layers(plan: &MessagePlan, placement: Placement, bytes: u64, refusals: &Refusals) -> Vec<Layer> {
    let can = |layer: &&Layer| why_not(plan, placement, bytes, layer, refusals).is_none();
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

/// What there can be no trials of.
pub fn absent(plan: &MessagePlan, refusals: &Refusals) -> Vec<AbsentCell> {
    let all = iproduct!(&plan.placements, &plan.layers);
    all.flat_map(|(&placement, layer)| absent_of(plan, placement, layer, refusals)).collect()
}

/// Each reason once, with the sizes that it is one for if there are others.
fn absent_of(
    plan: &MessagePlan,
    placement: Placement,
    layer: &Layer,
    refusals: &Refusals,
) -> Vec<AbsentCell> {
    let reason = |&bytes: &u64| Some((why_not(plan, placement, bytes, layer, refusals)?, bytes.to_string()));
    let cell = |(Reason { why, nearest }, sizes): (Reason, Vec<String>)| {
        let of_all = sizes.len() == plan.sizes_bytes.len();
        let why = if of_all { why } else { format!("with {} bytes: {why}", sizes.join(", ")) };
        AbsentCell { placement, layer: Some(layer.clone()), why, nearest: nearest.into() }
    };
    by_key(plan.sizes_bytes.iter().filter_map(reason)).into_iter().map(cell).collect()
}

/// Why there is no such cell.
fn why_not(
    plan: &MessagePlan,
    placement: Placement,
    bytes: u64,
    layer: &Layer,
    refusals: &Refusals,
) -> Option<Reason> {
    if driver::has(layer) {
        let refused = || Reason::of_refusal(refusals.driver.as_ref()?);
        return driver::why_not(plan.test, placement, bytes).map(Reason::from).or_else(refused);
    }
    if placement == Placement::UU {
        return None;
    }
    let sendfile = matches!(layer, Layer::Bare { form: Form::Sendfile, .. });
    if sends_over_tcp(plan, placement) {
        return (!sendfile).then_some(Reason::from((
            "nothing in the kernel sends messages over TCP by itself",
            "sendfile: many messages a call, out of a file in memory without a copy",
        )));
    }
    if plan.test == MessageTest::Oneway && placement.kernel_client() {
        return Some(Reason::from((
            "no program that a socket can be given to sends datagrams by itself",
            "xdp: frames that a program writes in the driver, in the lab",
        )));
    }
    kernel::why_not(plan, placement, layer, bytes).or_else(|| Reason::of_refusal(refusals.socket.as_ref()?))
}

/// Why there is no such cell, and what is nearest to it.
#[derive(Debug, PartialEq, Eq)]
pub struct Reason {
    pub why: String,
    /// What is nearest; empty where nothing is.
    pub nearest: &'static str,
}

impl Reason {
    fn of_refusal(why: &str) -> Option<Self> {
        Some(Self { why: why.into(), nearest: "both ends in user space" })
    }
}

/// What the kernel says to ends of its own at all, where it refuses them.
#[derive(Clone, Debug, Default)]
pub struct Refusals {
    pub socket: Option<String>,
    /// To those in the driver of the lab's devices.
    pub driver: Option<String>,
}

impl From<(&str, &'static str)> for Reason {
    fn from((why, nearest): (&str, &'static str)) -> Self {
        Self { why: why.into(), nearest }
    }
}

#[cfg(test)]
mod tests {
    use netfathom_model::plan::Place;

    use super::*;

    #[test]
    fn sizes_that_frames_cannot_have_are_absent_with_their_reason() {
        let plan = MessagePlan {
            carrier: Carrier::Udp,
            layers: vec!["write".parse().unwrap(), "xdp".parse().unwrap()],
            placements: vec![Placement::UU, Placement::KU],
            sizes_bytes: vec![4, 16, 28, 1468, 1469],
            ..MessagePlan::paper(MessageTest::Oneway, Place::Lab)
        };
        let refusals = Refusals::default();
        let round = Order::of(&plan, 1, &refusals).next().unwrap();
        let sizes = |layer: &str, placement| -> Vec<u64> {
            let is = |cell: &&Cell| cell.layer.to_string() == layer && cell.placement == placement;
            round.iter().filter(is).map(|cell| cell.bytes).collect()
        };
        assert_eq!(sizes("write", Placement::UU), plan.sizes_bytes);
        assert_eq!(sizes("write", Placement::KU), [0; 0]);
        assert_eq!(sizes("xdp", Placement::KU), [28, 1468]);
        let absent = absent(&plan, &refusals);
        let why: Vec<(Placement, String)> =
            absent.into_iter().map(|a| (a.placement, a.why.chars().take(24).collect())).collect();
        let expected = [
            (Placement::UU, "no end is in the driver"),
            (Placement::KU, "no program that a socket"),
            (Placement::KU, "with 4, 16 bytes: the fr"),
            (Placement::KU, "with 1469 bytes: a progr"),
        ];
        assert_eq!(why, expected.map(|(placement, why)| (placement, why.to_owned())));
    }

    #[test]
    fn ends_that_the_kernel_refuses_are_absent_and_the_others_are_not() {
        let plan = MessagePlan {
            carrier: Carrier::Udp,
            layers: vec!["write".parse().unwrap(), "xdp".parse().unwrap()],
            placements: vec![Placement::UU, Placement::KK],
            sizes_bytes: vec![64],
            ..MessagePlan::paper(MessageTest::Pingpong, Place::Lab)
        };
        let refusals = Refusals { driver: Some("verifier: no".into()), socket: None };
        let absent = absent(&plan, &refusals);
        let round = Order::of(&plan, 1, &refusals).next().unwrap();
        assert_eq!(names(round), ["write KK", "write UU"]);
        assert!(absent.iter().any(|a| a.placement == Placement::KK && a.why == "verifier: no"), "{absent:?}");
        assert_eq!(Order::of(&plan, 1, &Refusals::default()).cells(), 3);
    }

    fn names(round: Vec<Cell>) -> Vec<String> {
        let name = |cell: &Cell| format!("{} {}", cell.layer, cell.placement.name());
        let mut names: Vec<String> = round.iter().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn every_round_has_each_cell_in_an_order_of_its_own() {
        let plan =
            MessagePlan { sizes_bytes: vec![64], ..MessagePlan::paper(MessageTest::Pingpong, Place::Lab) };
        let refusals = Refusals::default();
        let order = Order::of(&plan, 1, &refusals);
        let cells = order.cells();
        let rounds: Vec<Vec<Cell>> = order.take(9).collect();
        assert!(rounds.iter().any(|round| *round != rounds[0]));
        let all = names(rounds[0].clone());
        assert_eq!(all.len(), cells);
        assert!(rounds.into_iter().all(|round| names(round) == all));
    }
}
