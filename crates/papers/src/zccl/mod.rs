//! Lichota 2002, chapter 7: ZCCL, a library of messages over sockets, beside bare sockets. One way, by
//! placement in user space or kernel, in round trips, as posts; and the anomaly of 80 ms.

use std::time::Duration;

use netfathom_model::plan::{MessageTest, ReproducePlan};
use netfathom_model::record::ReproducedRun;

use super::ground::Ground;
use super::part::Part;
use super::{Experiment, Needs, Told};

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
mod rounds;
mod sizes;
mod tables;

use ours::{Ours, messages};

pub static EXPERIMENTS: [Experiment; 5] = [
    Experiment {
        name: "zccl-1",
        title: "Messages one way, by a library with a sender thread",
        source: "Lichota 2002 (ZCCL), section 7.5, test 1",
        shows: "what a hand-over to a thread takes from the rate of small messages, and what inline and adaptive make of it",
        quick: Duration::from_secs(90),
        full: Duration::from_secs(600),
        needs: Needs::Nothing,
        taps: &[],
        parts: |ground| Ok(sized(ground, plans::ONEWAY, MessageTest::Oneway)),
        tell: |plan, runs| tell_sized(MessageTest::Oneway, plan, runs),
    },
    Experiment {
        name: "zccl-2",
        title: "Messages with their ends in user space and in the kernel",
        source: "Lichota 2002 (ZCCL), section 7.6, test 2",
        shows: "what it brings to have the client, the server or both in the kernel",
        quick: Duration::from_secs(45),
        full: Duration::from_secs(300),
        needs: Needs::Nothing,
        taps: &[],
        parts: |ground| Ok(placed(ground)),
        tell: tell_placed,
    },
    Experiment {
        name: "zccl-3",
        title: "Round trips of messages, by a library with a sender thread",
        source: "Lichota 2002 (ZCCL), section 7.7, test 3",
        shows: "that the hand-over to a thread takes as long whatever the size, and what is left of it inline",
        quick: Duration::from_secs(90),
        full: Duration::from_secs(600),
        needs: Needs::Nothing,
        taps: &[],
        parts: |ground| Ok(sized(ground, plans::PINGPONG, MessageTest::Pingpong)),
        tell: |plan, runs| tell_sized(MessageTest::Pingpong, plan, runs),
    },
    Experiment {
        name: "zccl-4",
        title: "Posts: bulk replies to where the client wants them",
        source: "Lichota 2002 (ZCCL), section 7.8, test 4",
        shows: "from which size on a library costs little",
        quick: Duration::from_secs(75),
        full: Duration::from_secs(480),
        needs: Needs::Nothing,
        taps: &[],
        parts: |ground| Ok(sized(ground, plans::POST, MessageTest::Post)),
        tell: |plan, runs| tell_sized(MessageTest::Post, plan, runs),
    },
    Experiment {
        name: "zccl-anomaly",
        title: "Two writes a message, and round trips of 80 ms",
        source: "Lichota 2002 (ZCCL), section 7.7.5, the anomaly of test 3",
        shows: "Nagle's algorithm and delayed ACKs in each other's way, and all that helps",
        quick: Duration::from_secs(95),
        full: Duration::from_secs(840),
        needs: Needs::Nothing,
        taps: &[],
        parts: |ground| {
            let sizes = Part::new(plans::SIZES, plans::stalled_sizes(ground));
            Ok(vec![Part::new(plans::ANOMALY, plans::anomaly(ground)), sizes])
        },
        tell: tell_anomaly,
    },
];

fn sized(ground: &Ground<'_>, name: &'static str, test: MessageTest) -> Vec<Part> {
    vec![Part::new(name, plans::sized(ground, test))]
}

fn placed(ground: &Ground<'_>) -> Vec<Part> {
    let parts = [(plans::ONEWAY, MessageTest::Oneway), (plans::PINGPONG, MessageTest::Pingpong)];
    parts.map(|(name, test)| Part::new(name, plans::placed(ground, test))).into()
}

fn tell_sized(test: MessageTest, plan: &ReproducePlan, runs: &[ReproducedRun]) -> Told {
    let all = messages(runs);
    let ours: Option<&Ours<'_>> = all.first();
    let means = (test == MessageTest::Pingpong).then(|| tables::means(ours));
    let more = [tables::instead(test, ours), tables::processor_time(test, ours)];
    Told {
        differences: differences::of_sized(test, plan, ours),
        tables: [tables::beside(test, ours)].into_iter().chain(means).chain(more).collect(),
        figures: figures::all(test, ours),
        claims: claims::all(test, ours),
        ..Told::default()
    }
}

fn tell_placed(plan: &ReproducePlan, runs: &[ReproducedRun]) -> Told {
    let ours = messages(runs);
    Told {
        differences: differences::of_placement(plan, ours.first()),
        tables: placement::tables(&ours),
        figures: placement::figures(&ours),
        claims: placement::claims(&ours),
        ..Told::default()
    }
}

fn tell_anomaly(plan: &ReproducePlan, runs: &[ReproducedRun]) -> Told {
    let all = messages(runs);
    let (ours, sizes) = (ours::named(&all, plans::ANOMALY), ours::named(&all, plans::SIZES));
    let (ours, sizes) = (ours.as_ref(), sizes.as_ref());
    let size_claims = sizes.map(|of| vec![sizes::constant(of)]).unwrap_or_default();
    Told {
        differences: differences::of_anomaly(plan, ours),
        tables: vec![anomaly::table(ours)],
        figures: sizes.and_then(sizes::figure).into_iter().chain(anomaly::figure(ours)).collect(),
        claims: [anomaly::claims(ours), size_claims].concat(),
        ..Told::default()
    }
}
