//! What an earlier run of the same plan has left to do.

use std::collections::BTreeSet;

use netfathom_model::plan::FleetTest;
use netfathom_model::record::{FleetHost, FleetPair, FleetResult};

/// What need not be measured again: pairs with a value, steps in which each sender took part, hosts with figures.
pub fn kept(known: &FleetResult) -> FleetResult {
    let mut kept = FleetResult { cut: None, ..known.clone() };
    if known.plan.test.is_mesh() {
        kept.pairs.retain(|pair| pair.failed.is_none());
    } else {
        let whole = known.steps.iter().take_while(|step| step.failed.is_empty()).count();
        kept.steps.truncate(whole);
        kept.pairs.retain(|pair| (pair.round as usize) < whole);
    }
    kept
}

/// The hosts of a mesh: those that take part now, and those that did.
pub fn hosts<'a>(now: impl Iterator<Item = &'a String>, kept: &'a [FleetHost]) -> Vec<String> {
    let then = kept.iter().filter(|host| host.address.is_some()).map(|host| &host.name);
    now.chain(then).cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Whether a pair has its value; of round trips, by either end.
pub fn has(kept: &[FleetPair], test: FleetTest, from: &str, to: &str) -> bool {
    let is = |pair: &FleetPair, from, to| pair.from == from && pair.to == to;
    kept.iter().any(|pair| is(pair, from, to) || test != FleetTest::Throughput && is(pair, to, from))
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::FleetStep;

    use super::*;

    fn pair(from: &str, to: &str, round: u32) -> FleetPair {
        FleetPair { from: from.into(), to: to.into(), round, ..FleetPair::default() }
    }

    #[test]
    fn a_round_trip_is_known_from_either_end_and_a_transfer_from_one() {
        let kept = [pair("a", "b", 0)];
        for (test, from, to, known) in [
            (FleetTest::Throughput, "a", "b", true),
            (FleetTest::Throughput, "b", "a", false),
            (FleetTest::Latency, "b", "a", true),
            (FleetTest::Loss, "a", "c", false),
        ] {
            assert_eq!(has(&kept, test, from, to), known, "{test:?} {from} {to}");
        }
    }

    #[test]
    fn a_load_goes_on_at_the_first_step_in_which_a_sender_was_missing() {
        let step = |failed: &[&str]| FleetStep {
            rate_per_s: 1e3,
            senders: 2,
            planned: 10,
            sent: 10,
            delivered: 10,
            sent_per_s: 1e3,
            delivered_per_s: 1e3,
            lag_p99_ns: 0,
            sustained: failed.is_empty(),
            failed: failed.iter().map(|host| ((*host).to_owned(), "gone".to_owned())).collect(),
        };
        let mut known = super::super::nothing(&plan(FleetTest::Load));
        known.steps = vec![step(&[]), step(&["c"]), step(&[])];
        known.pairs = vec![pair("a", "b", 0), pair("a", "b", 1), pair("a", "b", 2)];
        known.cut = Some("the server is gone".into());
        let kept = kept(&known);
        assert_eq!((kept.steps.len(), kept.pairs.len(), kept.cut), (1, 1, None));
    }

    fn plan(test: FleetTest) -> netfathom_model::plan::FleetPlan {
        netfathom_model::plan::FleetPlan {
            fleet: "default".into(),
            test,
            hosts: Vec::new(),
            time_ns: 1_000_000_000,
            streams: 1,
            rates_per_s: vec![1e3],
            size_bytes: 64,
            peers: None,
            parallel: None,
            to: Some("b".into()),
            explain: false,
            seed: 1,
        }
    }
}
