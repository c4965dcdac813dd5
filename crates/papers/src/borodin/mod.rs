//! Borodin 2014: what the operating system takes of each UDP message, out and in, as the
//! rate rises; the load that a machine can make; and what answers take of it.

use std::time::Duration;

use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::ReproducePlan;
use netfathom_model::record::{Claim, ReproducedRun, StackResult};

use super::{Experiment, Needs, Report};

mod claims;
mod differences;
mod figures;
#[cfg(test)]
pub(crate) mod fixture;
mod growth;
mod instances;
mod originals;
mod ours;
mod plans;
mod protocols;
mod remarks;
mod reverse;
mod tables;

use ours::Slope;

const OUTGOING: &str =
    "Borodin 2014, A study of the load capability of computer systems (the outgoing paper)";
const INCOMING: &str = "Borodin 2014, The research of operation system network stack during processing of data arriving \
                        from network (the incoming paper)";
const BOTH: &str = "Borodin 2014, the outgoing and the incoming paper";
/// Every tap takes both ways.
const ALL_TAPS: &[Tap] = &[Tap::Bpf, Tap::Timestamping, Tap::Pcap];

pub static EXPERIMENTS: [Experiment; 7] = [
    Experiment {
        name: "borodin-tx",
        title: "Time of outgoing messages as the rate rises",
        source: OUTGOING,
        shows: "a message takes less time the more of them leave; the load that follows from it",
        quick: Duration::from_secs(55),
        full: Duration::from_secs(1050),
        needs: Needs::Nothing,
        taps: ALL_TAPS,
        parts: |ground| plans::ramp(ground, "outgoing", &[Direction::Tx]),
        tell: tell_tx,
    },
    Experiment {
        name: "borodin-rx",
        title: "Time of incoming messages as the rate rises",
        source: INCOMING,
        shows: "what a message takes from the link layer to the application",
        quick: Duration::from_secs(55),
        full: Duration::from_secs(1050),
        needs: Needs::Nothing,
        taps: ALL_TAPS,
        parts: |ground| plans::ramp(ground, "incoming", &[Direction::Rx]),
        tell: tell_rx,
    },
    Experiment {
        name: "borodin-rx-triangle",
        title: "Time of incoming messages as the rate rises to 9,000 a second and falls",
        source: INCOMING,
        shows: "whether the time falls and grows again, alike on both slopes",
        quick: Duration::from_secs(60),
        full: Duration::from_secs(1500),
        needs: Needs::Nothing,
        taps: ALL_TAPS,
        parts: plans::triangle,
        tell: tell_triangle,
    },
    Experiment {
        name: "borodin-reverse",
        title: "Outgoing load while answers come in",
        source: OUTGOING,
        shows: "incoming messages lower the outgoing rate and raise the time of a message",
        quick: Duration::from_secs(85),
        full: Duration::from_secs(600),
        needs: Needs::Root,
        taps: &[Tap::Bpf],
        parts: plans::reverse,
        tell: reverse::tell,
    },
    Experiment {
        name: "borodin-asymmetry",
        title: "Incoming messages beside outgoing ones of the same load",
        source: BOTH,
        shows: "a message costs more on its way in than on its way out",
        quick: Duration::from_secs(55),
        full: Duration::from_secs(330),
        needs: Needs::Nothing,
        taps: ALL_TAPS,
        parts: |ground| plans::ramp(ground, "both ways", &[Direction::Tx, Direction::Rx]),
        tell: tell_asymmetry,
    },
    Experiment {
        name: "borodin-instances",
        title: "Instances of a sender that a capture follows",
        source: OUTGOING,
        shows: "how many senders lose about half in the capture, and how many at most 5 %",
        quick: Duration::from_secs(40),
        full: Duration::from_secs(190),
        needs: Needs::Root,
        taps: &[Tap::Pcap],
        parts: instances::parts,
        tell: instances::tell,
    },
    Experiment {
        name: "borodin-protocols",
        title: "Outgoing messages over TCP beside UDP",
        source: OUTGOING,
        shows: "what a heavier transport protocol takes of the load capability",
        quick: Duration::from_secs(60),
        full: Duration::from_secs(480),
        needs: Needs::Nothing,
        taps: &[Tap::Bpf, Tap::Timestamping],
        parts: protocols::parts,
        tell: protocols::tell,
    },
];

fn tell_tx(plan: &ReproducePlan, runs: &[ReproducedRun]) -> Report {
    let ours = ours::stack(runs);
    Report {
        differences: differences::of_stack(plan, ours),
        tables: vec![
            tables::overall(Direction::Tx, ours),
            tables::peak(ours),
            tables::capability(ours),
            tables::trials(Direction::Tx, ours),
        ],
        figures: [
            vec![figures::overall_and_peak(ours), figures::trials(Direction::Tx, ours)],
            figures::over_time(&[Direction::Tx], ours),
            figures::over_rate(&[Direction::Tx], ours),
        ]
        .concat(),
        claims: claims::asked(ours, |ours| falls(Direction::Tx, ours)),
        ..Report::default()
    }
}

fn tell_rx(plan: &ReproducePlan, runs: &[ReproducedRun]) -> Report {
    let ours = ours::stack(runs);
    Report {
        differences: differences::of_stack(plan, ours),
        tables: vec![tables::overall(Direction::Rx, ours), tables::trials(Direction::Rx, ours)],
        figures: [
            vec![figures::overall(Direction::Rx, ours), figures::trials(Direction::Rx, ours)],
            figures::over_time(&[Direction::Rx], ours),
            figures::over_rate(&[Direction::Rx], ours),
        ]
        .concat(),
        claims: claims::asked(ours, |ours| falls(Direction::Rx, ours))
            .into_iter()
            .chain(ours.map(remarks::single_take_long))
            .collect(),
        ..Report::default()
    }
}

/// The paper has graphs of it and no table.
fn tell_triangle(plan: &ReproducePlan, runs: &[ReproducedRun]) -> Report {
    let ours = ours::stack(runs);
    let claims = |ours: &StackResult| {
        let on = |slope| claims::less_at_high_rates(Direction::Rx, ours, Some(slope));
        let symmetric = claims::symmetric(Direction::Rx, ours);
        vec![on(Slope::Rising), remarks::falls_to_a_limit(ours), on(Slope::Falling), symmetric]
    };
    Report {
        differences: differences::of_stack(plan, ours),
        tables: ours.map(|ours| tables::slopes(Direction::Rx, ours)).into_iter().collect(),
        figures: [figures::over_time(&[Direction::Rx], ours), figures::slopes(Direction::Rx, ours)].concat(),
        claims: claims::asked(ours, claims),
        ..Report::default()
    }
}

fn tell_asymmetry(plan: &ReproducePlan, runs: &[ReproducedRun]) -> Report {
    let ours = ours::stack(runs);
    Report {
        differences: differences::of_stack(plan, ours),
        tables: vec![growth::growth(ours), growth::trials(ours)],
        figures: [vec![figures::both_ways(ours)], figures::over_rate(&[Direction::Tx, Direction::Rx], ours)]
            .concat(),
        claims: claims::asked(ours, |ours| vec![claims::incoming_costs_more(ours)]),
        ..Report::default()
    }
}

/// The claim that the time falls as the rate rises, in both forms.
fn falls(direction: Direction, ours: &StackResult) -> Vec<Claim> {
    vec![claims::less_at_peak(direction, ours), claims::less_at_high_rates(direction, ours, None)]
}
