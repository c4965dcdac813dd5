//! Lichota 2002, chapter 7: ZCCL, a library of messages over sockets, beside bare sockets. One way, by
//! placement in user space or kernel, in round trips, as posts; and the anomaly of 80 ms.

use std::time::Duration;

use netfathom_model::plan::{MessagePlan, MessageTest, Place, ProcessorChoice, ReproducePlan};
use netfathom_model::record::ReproducedRun;

use super::beside::{found, named};
use super::ground::Ground;
use super::part::Part;
use super::{Experiment, Report};

mod anomaly;
mod claims;
mod differences;
mod figures;
#[cfg(test)]
mod fixture;
mod originals;
mod ours;
mod placement;
mod plans;
mod sizes;
mod tables;

use ours::Ours;

pub static EXPERIMENTS: [Experiment; 9] = [
    ONEWAY,
    Experiment {
        name: "zccl-1-ethernet",
        title: "Messages one way over 10 Mbit/s, by a library with a sender thread",
        shows: "from which size on the network hides what a hand-over to a thread takes",
        parts: |ground| Ok(sized_over_ethernet(ground, plans::ONEWAY, MessageTest::Oneway)),
        ..OVER_ETHERNET
    },
    PLACEMENT,
    Experiment {
        name: "zccl-2-ethernet",
        title: "Messages over 10 Mbit/s with their ends in user space and in the kernel",
        source: PLACEMENT.source,
        shows: "what it brings to have the client, the server or both in the kernel, up to what the network lets through",
        parts: |ground| Ok(placed(ground, |plan| plans::over_ethernet(plan, ground))),
        tell: PLACEMENT.tell,
        ..OVER_ETHERNET
    },
    PINGPONG,
    Experiment {
        name: "zccl-3-ethernet",
        title: "Round trips of messages over 10 Mbit/s, by a library with a sender thread",
        source: PINGPONG.source,
        shows: "how the slowdown falls where the network makes round trips longer with the size",
        parts: |ground| Ok(sized_over_ethernet(ground, plans::PINGPONG, MessageTest::Pingpong)),
        tell: PINGPONG.tell,
        ..OVER_ETHERNET
    },
    POST,
    Experiment {
        name: "zccl-4-ethernet",
        title: "Posts over 10 Mbit/s: bulk replies to where the client wants them",
        source: POST.source,
        shows: "from which size on a library costs little where the network is the limit",
        parts: |ground| Ok(sized_over_ethernet(ground, plans::POST, MessageTest::Post)),
        tell: POST.tell,
        ..OVER_ETHERNET
    },
    ANOMALY,
];

/// What is the same in all that have a path as fast as the paper's network.
const OVER_ETHERNET: Experiment = Experiment {
    quick: Duration::from_secs(110),
    full: Duration::from_secs(900),
    needs_root: true,
    ..ONEWAY
};

const ONEWAY: Experiment = Experiment {
    name: "zccl-1",
    title: "Messages one way, by a library with a sender thread",
    source: "Lichota 2002 (ZCCL), section 7.5, test 1",
    shows: "what a hand-over to a thread takes from the rate of small messages, and what inline and adaptive make of it",
    quick: Duration::from_secs(90),
    full: Duration::from_secs(600),
    needs_root: false,
    taps: &[],
    parts: |ground| Ok(sized(ground, plans::ONEWAY, MessageTest::Oneway)),
    tell: |plan, runs| tell_sized(MessageTest::Oneway, plan, runs),
};

const PLACEMENT: Experiment = Experiment {
    name: "zccl-2",
    title: "Messages with their ends in user space and in the kernel",
    source: "Lichota 2002 (ZCCL), section 7.6, test 2",
    shows: "what it brings to have the client, the server or both in the kernel",
    quick: Duration::from_secs(45),
    full: Duration::from_secs(300),
    parts: |ground| Ok(placed(ground, |plan| plan)),
    tell: tell_placed,
    ..ONEWAY
};

const PINGPONG: Experiment = Experiment {
    name: "zccl-3",
    title: "Round trips of messages, by a library with a sender thread",
    source: "Lichota 2002 (ZCCL), section 7.7, test 3",
    shows: "that the hand-over to a thread takes as long whatever the size, and what is left of it inline",
    parts: |ground| Ok(sized(ground, plans::PINGPONG, MessageTest::Pingpong)),
    tell: |plan, runs| tell_sized(MessageTest::Pingpong, plan, runs),
    ..ONEWAY
};

const POST: Experiment = Experiment {
    name: "zccl-4",
    title: "Posts: bulk replies to where the client wants them",
    source: "Lichota 2002 (ZCCL), section 7.8, test 4",
    shows: "from which size on a library costs little",
    quick: Duration::from_secs(75),
    full: Duration::from_secs(480),
    parts: |ground| Ok(sized(ground, plans::POST, MessageTest::Post)),
    tell: |plan, runs| tell_sized(MessageTest::Post, plan, runs),
    ..ONEWAY
};

const ANOMALY: Experiment = Experiment {
    name: "zccl-anomaly",
    title: "Two writes a message, and round trips of 80 ms",
    source: "Lichota 2002 (ZCCL), section 7.7.5, the anomaly of test 3",
    shows: "Nagle's algorithm and delayed ACKs in each other's way, and all that helps",
    quick: Duration::from_secs(95),
    full: Duration::from_secs(840),
    parts: |ground| {
        let network = || Part::new(plans::NETWORK, plans::stalled_network(ground));
        let parts = [
            Part::new(plans::ANOMALY, plans::anomaly(ground)),
            Part::new(plans::SIZES, plans::stalled_sizes(ground)),
        ];
        Ok(parts.into_iter().chain((ground.place() == Place::Lab).then(network)).collect())
    },
    tell: tell_anomaly,
    ..ONEWAY
};

fn sized(ground: &Ground<'_>, name: &'static str, test: MessageTest) -> Vec<Part> {
    vec![Part::new(name, plans::sized(ground, test))]
}

/// Each end had a machine of its own there.
fn sized_over_ethernet(ground: &Ground<'_>, name: &'static str, test: MessageTest) -> Vec<Part> {
    let plan = MessagePlan { processors: ProcessorChoice::Cross, ..plans::sized(ground, test) };
    vec![Part::new(name, plans::over_ethernet(plan, ground))]
}

fn placed(ground: &Ground<'_>, change: impl Fn(MessagePlan) -> MessagePlan) -> Vec<Part> {
    let parts = [(plans::ONEWAY, MessageTest::Oneway), (plans::PINGPONG, MessageTest::Pingpong)];
    parts.map(|(name, test)| Part::new(name, change(plans::placed(ground, test)))).into()
}

fn tell_sized(test: MessageTest, plan: &ReproducePlan, runs: &[ReproducedRun]) -> Report {
    let all: Vec<Ours<'_>> = found(runs);
    let ours = all.first();
    let means = (test == MessageTest::Pingpong).then(|| tables::means(ours));
    let more = [tables::instead(test, ours), tables::processor_time(test, ours)];
    Report {
        differences: differences::of_sized(test, plan, ours),
        tables: [tables::beside(test, ours)].into_iter().chain(means).chain(more).collect(),
        figures: figures::all(test, ours),
        claims: claims::all(test, ours),
        ..Report::default()
    }
}

fn tell_placed(plan: &ReproducePlan, runs: &[ReproducedRun]) -> Report {
    let ours: Vec<Ours<'_>> = found(runs);
    Report {
        differences: differences::of_placement(plan, ours.first()),
        tables: placement::tables(&ours),
        figures: placement::figures(&ours),
        claims: placement::claims(&ours),
        ..Report::default()
    }
}

fn tell_anomaly(plan: &ReproducePlan, runs: &[ReproducedRun]) -> Report {
    let all: Vec<Ours<'_>> = found(runs);
    let [ours, sizes, network] = [plans::ANOMALY, plans::SIZES, plans::NETWORK].map(|name| named(&all, name));
    let size_claims = sizes.map(sizes::constant).into_iter();
    let elsewhere = size_claims.chain(network.map(anomaly::over_network)).collect();
    Report {
        differences: differences::of_anomaly(plan, ours),
        tables: vec![anomaly::table(ours)],
        figures: sizes.and_then(sizes::figure).into_iter().chain(anomaly::figure(ours)).collect(),
        claims: [anomaly::claims(ours), elsewhere].concat(),
        ..Report::default()
    }
}
