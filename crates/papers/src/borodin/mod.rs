//! Borodin 2014: what the operating system takes of each UDP message, out and in, as the
//! rate rises; the load that a machine can make; and what answers take of it.

use std::time::Duration;

use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::ReproducePlan;
use netfathom_model::record::{ReproducedRun, StackResult};

use super::{Experiment, Report};

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

const TX: Experiment = Experiment {
    name: "borodin-tx",
    title: "Time of outgoing messages as the rate rises",
    source: OUTGOING,
    shows: "a message takes less time the more of them leave; the load that follows from it",
    quick: Duration::from_secs(55),
    full: Duration::from_secs(1050),
    needs_root: false,
    // Every tap takes both ways.
    taps: &[Tap::Bpf, Tap::Timestamping, Tap::Pcap],
    parts: |ground| plans::ramp(ground, "outgoing", &[Direction::Tx]),
    tell: |plan, runs| tell_ramp(Direction::Tx, plan, runs),
};

pub static EXPERIMENTS: [Experiment; 7] = [
    TX,
    Experiment {
        name: "borodin-rx",
        title: "Time of incoming messages as the rate rises",
        source: INCOMING,
        shows: "what a message takes from the link layer to the application",
        parts: |ground| plans::ramp(ground, "incoming", &[Direction::Rx]),
        tell: |plan, runs| tell_ramp(Direction::Rx, plan, runs),
        ..TX
    },
    Experiment {
        name: "borodin-rx-triangle",
        title: "Time of incoming messages as the rate rises to 9,000 a second and falls",
        source: INCOMING,
        shows: "whether the time falls and grows again, alike on both slopes",
        quick: Duration::from_secs(60),
        full: Duration::from_secs(1500),
        parts: plans::triangle,
        tell: tell_triangle,
        ..TX
    },
    Experiment {
        name: "borodin-reverse",
        title: "Outgoing load while answers come in",
        shows: "incoming messages lower the outgoing rate and raise the time of a message",
        quick: Duration::from_secs(85),
        full: Duration::from_secs(600),
        needs_root: true,
        taps: &[Tap::Bpf],
        parts: plans::reverse,
        tell: reverse::tell,
        ..TX
    },
    Experiment {
        name: "borodin-asymmetry",
        title: "Incoming messages beside outgoing ones of the same load",
        source: BOTH,
        shows: "a message costs more on its way in than on its way out",
        full: Duration::from_secs(330),
        parts: |ground| plans::ramp(ground, "both ways", &[Direction::Tx, Direction::Rx]),
        tell: tell_asymmetry,
        ..TX
    },
    Experiment {
        name: "borodin-instances",
        title: "Instances of a sender that a capture follows",
        shows: "how many senders lose about half in the capture, and how many at most 5 %",
        quick: Duration::from_secs(40),
        full: Duration::from_secs(190),
        needs_root: true,
        taps: &[Tap::Pcap],
        parts: instances::parts,
        tell: instances::tell,
        ..TX
    },
    Experiment {
        name: "borodin-protocols",
        title: "Outgoing messages over TCP beside UDP",
        shows: "what a heavier transport protocol takes of the load capability",
        quick: Duration::from_secs(60),
        full: Duration::from_secs(480),
        taps: &[Tap::Bpf, Tap::Timestamping],
        parts: protocols::parts,
        tell: protocols::tell,
        ..TX
    },
];

/// Only the outgoing paper has a peak and a capability, and only the incoming one remarks on single messages.
fn tell_ramp(direction: Direction, plan: &ReproducePlan, runs: &[ReproducedRun]) -> Report {
    let ours = ours::stack(runs);
    let (bars, at_peak, remark) = match direction {
        Direction::Tx => {
            (figures::overall_and_peak(ours), vec![tables::peak(ours), tables::capability(ours)], None)
        }
        Direction::Rx => (figures::overall(direction, ours), Vec::new(), ours.map(remarks::single_take_long)),
    };
    // The time falls as the rate rises, in both forms.
    let falls = |ours: &StackResult| {
        vec![claims::less_at_peak(direction, ours), claims::less_at_high_rates(direction, ours, None)]
    };
    Report {
        differences: differences::of_stack(plan, ours),
        tables: [vec![tables::overall(direction, ours)], at_peak, vec![tables::trials(direction, ours)]]
            .concat(),
        figures: [
            vec![bars, figures::trials(direction, ours)],
            figures::over_time(&[direction], ours),
            figures::over_rate(&[direction], ours),
        ]
        .concat(),
        claims: claims::asked(ours, falls).into_iter().chain(remark).collect(),
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
