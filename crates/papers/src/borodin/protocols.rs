//! Whether a heavier protocol takes of the load capability: the same messages over UDP and over TCP.

use netfathom_model::path::Direction;
use netfathom_model::plan::{ReproducePlan, Transport};
use netfathom_model::profile::Profile;
use netfathom_model::record::{Claim, Measured, Origin, ReproducedRun, StackResult};
use netfathom_model::units::format_rate;
use netfathom_stats::{mean, ratio};

use super::plans::over;
use super::{differences, figures, ours};
use crate::Report;
use crate::claim::{below, written};
use crate::ground::Ground;
use crate::part::Part;
use netfathom_measure::ground::error::RunError;

/// One that leaves on schedule on any machine, over either.
const RATE_PER_S: f64 = 10e3;
const LENGTH_S: f64 = 10.0;
const QUICK_LENGTH_S: f64 = 2.0;
/// Each protocol is first once, so that what drifts is on both.
const TURNS: [(&str, Transport); 4] = [
    ("over UDP", Transport::Udp),
    ("over TCP", Transport::Tcp),
    ("over TCP again", Transport::Tcp),
    ("over UDP again", Transport::Udp),
];

const AT_ONE_RATE: &str = "The paper infers the capability of a platform from the mean time at its highest rate. Here both \
                           protocols are compared at one rate that is on schedule over either.";

pub fn parts(ground: &mut Ground<'_>) -> Result<Vec<Part>, RunError> {
    let duration_ns = ground.length_ns(QUICK_LENGTH_S, LENGTH_S);
    let profile = Profile::Constant { rate_per_s: RATE_PER_S, duration_ns };
    let part = |(name, transport)| Part::new(name, over(ground, transport, profile.clone()));
    Ok(TURNS.map(part).into())
}

pub fn tell(plan: &ReproducePlan, runs: &[ReproducedRun]) -> Report {
    let first = ours::stack(runs);
    Report {
        differences: [differences::of_stack(plan, first), vec![AT_ONE_RATE.into()]].concat(),
        figures: first.map(|_| figures::over_time(&[Direction::Tx], first)).unwrap_or_default(),
        claims: claim(runs).into_iter().collect(),
        ..Report::default()
    }
}

/// Mean times of the trials over a protocol, in microseconds.
fn times_us(runs: &[ReproducedRun], transport: Transport) -> Vec<f64> {
    let results = runs.iter().filter_map(|run| StackResult::of(&run.measurement));
    let over = results.filter(|result| result.plan.transport == transport);
    over.flat_map(|result| ours::paths(result, Direction::Tx)).map(|path| path.total.mean_ns / 1e3).collect()
}

/// The paper infers the capability as 1 over the mean time at the highest rate that it made. Ours is 1 over the mean
/// at one rate that is on schedule over either protocol.
fn claim(runs: &[ReproducedRun]) -> Option<Claim> {
    let [udp, tcp] = [Transport::Udp, Transport::Tcp].map(|transport| times_us(runs, transport));
    if udp.is_empty() || tcp.is_empty() {
        return None;
    }
    let capability = ratio(&udp, &tcp);
    Some(Claim {
        origin: Origin::Source,
        says: "Transport protocols that need more resources lower the load capability".into(),
        there:
            "outgoing paper, conclusion; it measures UDP alone, and infers the capability at the highest rate"
                .into(),
        here: format!(
            "a message takes {:.3} µs over UDP and {:.3} µs over TCP: 1 over that time, over TCP, is {} of that over UDP, \
             at {} messages/s and not at the highest rate (95 % interval between {} and {} trials)",
            mean(&udp),
            mean(&tcp),
            written(capability, 3),
            format_rate(RATE_PER_S),
            udp.len(),
            tcp.len(),
        ),
        holds: below(capability, 1.0),
    })
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::{Holds, Measurement};

    use super::super::fixture::stack;
    use super::*;

    fn run(transport: Transport, times: &[(i64, i64)]) -> ReproducedRun {
        let mut result = stack(&[(Direction::Tx, times)]);
        result.plan.transport = transport;
        ReproducedRun { name: String::new(), measurement: Measurement::Stack(Box::new(result)) }
    }

    #[test]
    fn the_interval_of_the_quotient_decides() {
        const SHORT: &[(i64, i64)] = &[(1000, 1000), (1020, 1020), (980, 980)];
        const LONG: &[(i64, i64)] = &[(2000, 2000), (2050, 2050), (1950, 1950)];
        let holds = |udp, tcp| claim(&[run(Transport::Udp, udp), run(Transport::Tcp, tcp)]).unwrap().holds;
        assert_eq!([holds(SHORT, LONG), holds(LONG, SHORT)], [Holds::Yes, Holds::No]);
        assert_eq!(holds(SHORT, SHORT), Holds::CannotTell);
        let here = claim(&[run(Transport::Udp, SHORT), run(Transport::Tcp, LONG)]).unwrap().here;
        assert!(here.contains("at 10k messages/s and not at the highest rate"), "{here}");
        assert!(claim(&[run(Transport::Udp, SHORT)]).is_none());
    }
}
