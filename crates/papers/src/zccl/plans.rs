//! The measurements that the experiments are made of.

use netfathom_model::layer::{End, Form, Layer, SocketOption, Strategy};
use netfathom_model::plan::{MessagePlan, MessageTest, Placement, ProcessorChoice};

use super::ours::{library, sockets, thread};
use crate::ground::Ground;

/// Names of the parts within the experiments.
pub const ONEWAY: &str = "oneway";
pub const PINGPONG: &str = "pingpong";
pub const POST: &str = "post";
pub const ANOMALY: &str = "anomaly";

/// Of test 2, whose size is not at hand: with it the network's limit is what that table ends at.
pub const PLACED_BYTES: u64 = 32;
/// Any that is far less than a segment will do.
pub const ANOMALY_BYTES: u64 = 64;

/// A stalled round trip takes up to 90 ms: this many, and no more.
const STALLED_QUICK: u64 = 30;
const STALLED_FULL: u64 = 100;

/// The order in which placements are shown: that of the paper.
pub const PLACEMENTS: [Placement; 4] = [Placement::UU, Placement::KU, Placement::UK, Placement::KK];

/// A test in the paper's sizes: its sockets, its library, and what could stand in its place.
pub fn sized(ground: &Ground<'_>, test: MessageTest) -> MessagePlan {
    let layers = vec![sockets(), thread(), library(Strategy::Inline), library(Strategy::Adaptive)];
    MessagePlan { layers, ..usual(ground, test) }
}

/// A test with the ends in user space and in the kernel.
pub fn placed(ground: &Ground<'_>, test: MessageTest) -> MessagePlan {
    let mut layers = vec![sockets(), thread()];
    if test == MessageTest::Oneway {
        layers.push(sendfile());
    }
    MessagePlan {
        layers,
        sizes_bytes: vec![PLACED_BYTES],
        placements: PLACEMENTS.to_vec(),
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

/// Two writes a message, and all that is said to help.
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

/// A way of sending header and body.
pub struct Way {
    pub layer: Layer,
    pub words: &'static str,
    /// What the paper says of it.
    pub there: There,
}

/// What the paper says of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum There {
    /// It takes about 40 or 80 ms.
    FortyOrEighty,
    /// It takes about 40 ms.
    Forty,
    /// The stall is gone.
    Gone,
}

/// The stalled ones first, then what helps.
pub fn ways() -> [Way; 9] {
    use SocketOption::{Cork, More, NoDelay, QuickAck};
    let way = |form, options: &[(SocketOption, Option<End>)], words, there| Way {
        layer: Layer::Bare { form, options: options.to_vec() },
        words,
        there,
    };
    let two = |options, words, there| way(Form::Two, options, words, there);
    [
        two(&[], "two writes", There::FortyOrEighty),
        two(&[(NoDelay, Some(End::Client))], "TCP_NODELAY, client", There::Forty),
        two(&[(NoDelay, Some(End::Server))], "TCP_NODELAY, server", There::Forty),
        two(&[(NoDelay, None)], "TCP_NODELAY, both ends", There::Gone),
        two(&[(Cork, None)], "TCP_CORK", There::Gone),
        two(&[(More, None)], "MSG_MORE", There::Gone),
        two(&[(QuickAck, None)], "TCP_QUICKACK, both ends", There::Gone),
        way(Form::Writev, &[], "writev", There::Gone),
        way(Form::Write, &[], "one write", There::Gone),
    ]
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use netfathom_model::plan::{ReproducePlan, TapChoice};
    use netfathom_model::record::ReproduceResult;

    use super::*;
    use crate::ground::Size;
    use netfathom_measure::ground::observer::{Observer, Progressed, Step};

    struct Nobody;

    impl Observer<ReproduceResult> for Nobody {
        fn begins(&mut self, _: Step, _: &std::sync::Arc<netfathom_measure::ground::observer::Live>) {}

        fn keep(&mut self, _: &Progressed<ReproduceResult>) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_plans_are_plans_in_either_form() {
        for quick in [true, false] {
            let plan = ReproducePlan { name: "zccl-1".into(), quick, tap: TapChoice::Auto, seed: 3 };
            let (stop, mut nobody) = (AtomicBool::new(false), Nobody);
            let ground = Ground::new(&plan, Size::WHOLE, &mut nobody, &stop);
            for test in [MessageTest::Oneway, MessageTest::Pingpong, MessageTest::Post] {
                let sized = sized(&ground, test).validated().unwrap();
                assert_eq!(sized.sizes_bytes, test.sizes_bytes());
                assert_eq!(sized.messages == test.messages(), !quick);
            }
            for test in [MessageTest::Oneway, MessageTest::Pingpong] {
                assert_eq!(placed(&ground, test).validated().unwrap().placements, PLACEMENTS);
            }
            assert_eq!(anomaly(&ground).validated().unwrap().layers.len(), ways().len());
        }
    }
}
