//! The measurements that the experiments are made of.

use netfathom_model::layer::{Form, Layer, Side, SocketOption};
use netfathom_model::plan::{MessagePlan, MessageTest, Placement, ProcessorChoice, Wire};

use super::ours::{headerless, library, sockets, zccl};
use super::tables;
use crate::ground::Ground;

pub const ONEWAY: &str = "oneway";
pub const PINGPONG: &str = "pingpong";
pub const POST: &str = "post";
pub const ANOMALY: &str = "anomaly";
pub const SIZES: &str = "sizes";
pub const NETWORK: &str = "network";

/// Test 2 (7.6.2).
pub const PLACED_BYTES: u64 = 32;
pub const PLACED_MESSAGES: u64 = 100_000;
/// The paper's network (7.2.1),
const ETHERNET_BITS_PER_S: u64 = 10_000_000;
/// with room for some 40 of its longest packets. Our choice: the paper does not say.
const ETHERNET_QUEUE_BYTES: u64 = 64 << 10;
/// Any that is far less than a segment will do.
pub const ANOMALY_BYTES: u64 = 64;

/// A stalled round trip takes up to 90 ms: this many, and in the paper's form as many as there (7.7.5).
const STALLED_QUICK: u64 = 30;
pub const STALLED_FULL: u64 = 100;

/// A test in the paper's sizes: its sockets, its library, and what could stand in its place.
pub fn sized(ground: &Ground<'_>, test: MessageTest) -> MessagePlan {
    let sockets = if test == MessageTest::Pingpong { headerless() } else { sockets() };
    let layers = [vec![sockets], tables::INSTEAD.map(library).into()].concat();
    MessagePlan { layers, ..usual(ground, test) }
}

/// The same over a path as fast as the paper's network, where trials take longer.
pub fn over_ethernet(plan: MessagePlan, ground: &Ground<'_>) -> MessagePlan {
    let rate_bits_per_s = Some(ETHERNET_BITS_PER_S);
    MessagePlan {
        path: Some(Wire { rate_bits_per_s, queue_bytes: ETHERNET_QUEUE_BYTES, ..Wire::long(0) }),
        trials: ground.trials(3, 10),
        ..plan
    }
}

/// A test with the ends in user space and in the kernel.
pub fn placed(ground: &Ground<'_>, test: MessageTest) -> MessagePlan {
    let mut layers = vec![sockets(), zccl()];
    let mut messages = test.messages();
    if test == MessageTest::Oneway {
        layers.push(sendfile());
        messages = PLACED_MESSAGES;
    }
    MessagePlan {
        layers,
        messages: if ground.plan.quick { messages / 10 } else { messages },
        sizes_bytes: vec![PLACED_BYTES],
        placements: Placement::ALL.to_vec(),
        ..usual(ground, test)
    }
}

/// The nearest to a sender in the kernel.
pub fn sendfile() -> Layer {
    Layer::Bare { form: Form::Sendfile, options: vec![(SocketOption::NoDelay, None)] }
}

fn usual(ground: &Ground<'_>, test: MessageTest) -> MessagePlan {
    let full = test.messages();
    MessagePlan {
        messages: if ground.plan.quick { full / 10 } else { full },
        least_ns: ground.length_ns(0.05, 0.1),
        most_ns: ground.length_ns(0.4, 2.0),
        trials: ground.trials(5, 10),
        seed: ground.plan.seed,
        remedies: false,
        ..MessagePlan::paper(test, ground.place())
    }
}

/// All ways of sending a header and a body, with one size.
pub fn anomaly(ground: &Ground<'_>) -> MessagePlan {
    MessagePlan {
        sizes_bytes: vec![ANOMALY_BYTES],
        layers: ways().map(|way| way.layer).into(),
        // Its times are those of timers, whatever the processors.
        processors: ProcessorChoice::Cross,
        messages: if ground.plan.quick { STALLED_QUICK } else { STALLED_FULL },
        least_ns: 0,
        most_ns: ground.length_ns(4.0, 15.0),
        ..usual(ground, MessageTest::Pingpong)
    }
}

/// Two writes a message over the sizes of test 3: our text lacks figure 7.4, and 7.7.5 names none.
pub fn stalled_sizes(ground: &Ground<'_>) -> MessagePlan {
    let all = MessageTest::Pingpong.sizes_bytes();
    let some = all.iter().copied().step_by(4).collect();
    MessagePlan {
        sizes_bytes: if ground.plan.quick { some } else { all },
        layers: vec![two_writes(&[])],
        messages: if ground.plan.quick { STALLED_QUICK / 3 } else { STALLED_FULL },
        trials: ground.trials(3, 5),
        ..anomaly(ground)
    }
}

/// Two writes a message over a path as fast as the paper's network.
pub fn stalled_network(ground: &Ground<'_>) -> MessagePlan {
    over_ethernet(MessagePlan { layers: vec![two_writes(&[])], ..anomaly(ground) }, ground)
}

fn two_writes(options: &[(SocketOption, Option<Side>)]) -> Layer {
    Layer::Bare { form: Form::Two, options: options.to_vec() }
}

/// A way of sending header and body.
pub struct WriteStyle {
    pub layer: Layer,
    pub words: &'static str,
    pub expected: Expected,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The paper's anomaly: about 79.5 ms. That it is two delayed ACKs is ours.
    Stalled,
    /// A stall as with two writes: the paper tried it (7.7.5).
    Same,
    /// By us: one of the two, about 40 ms.
    Half,
    /// The stall is gone: the paper proposes it, without a trial.
    Proposed,
    Gone,
    /// About a hundredth of two writes.
    Library,
}

/// The stalled ones first, then what helps.
pub fn ways() -> [WriteStyle; 11] {
    use SocketOption::{Cork, More, NoDelay, QuickAck};
    let two = |options: &[_], words, expected| WriteStyle { layer: two_writes(options), words, expected };
    let bare = |form, words, expected| WriteStyle {
        layer: Layer::Bare { form, options: Vec::new() },
        words,
        expected,
    };
    [
        two(&[], "two writes", Expected::Stalled),
        bare(Form::Sendmsg, "sendmsg() for send()", Expected::Same),
        two(&[(NoDelay, Some(Side::Client))], "TCP_NODELAY, client", Expected::Half),
        two(&[(NoDelay, Some(Side::Server))], "TCP_NODELAY, server", Expected::Half),
        two(&[(NoDelay, None)], "TCP_NODELAY, both ends", Expected::Proposed),
        two(&[(Cork, None)], "TCP_CORK", Expected::Proposed),
        two(&[(More, None)], "MSG_MORE", Expected::Gone),
        two(&[(QuickAck, None)], "TCP_QUICKACK, both ends", Expected::Gone),
        bare(Form::Writev, "writev", Expected::Gone),
        bare(Form::Write, "one write", Expected::Gone),
        WriteStyle { layer: zccl(), words: "the library", expected: Expected::Library },
    ]
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use netfathom_model::plan::{Place, ReproducePlan, TapChoice};

    use super::*;
    use crate::ground::Size;
    use crate::tests::plan;

    #[test]
    fn the_plans_are_plans_in_either_form() {
        for quick in [true, false] {
            let plan = ReproducePlan { quick, ..plan("zccl-1", TapChoice::Auto) };
            let (stop, mut observer) = (AtomicBool::new(false), ());
            let ground = Ground::new(&plan, Size::WHOLE, &mut observer, &stop);
            for test in MessageTest::ALL {
                let sized = sized(&ground, test).validated().unwrap();
                assert_eq!(sized.sizes_bytes, test.sizes_bytes());
                assert_eq!(sized.messages == test.messages(), !quick);
                let in_lab = MessagePlan { place: Place::Lab, ..sized };
                let path = over_ethernet(in_lab, &ground).validated().unwrap().path;
                assert_eq!(path.unwrap().rate_bits_per_s, Some(ETHERNET_BITS_PER_S));
            }
            for test in [MessageTest::Oneway, MessageTest::Pingpong] {
                let placed = placed(&ground, test).validated().unwrap().placements;
                assert_eq!(placed.iter().map(|p| p.name()).collect::<Vec<_>>(), ["UU", "KU", "UK", "KK"]);
            }
            assert_eq!(anomaly(&ground).validated().unwrap().layers.len(), ways().len());
            assert!(stalled_sizes(&ground).validated().unwrap().sizes_bytes.len() >= 3);
        }
    }
}
