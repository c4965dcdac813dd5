//! What an earlier run of the same plan has left to do.

use std::collections::BTreeSet;

use netfathom_model::plan::FleetTest;
use netfathom_model::record::{FleetHost, FleetPair, FleetResult, FleetStep};

/// What need not be measured again: pairs with a value, steps in which each sender took part, hosts with a verdict of their own.
pub fn kept(known: &FleetResult) -> FleetResult {
    let mut kept = FleetResult { cut: None, ..known.clone() };
    let is_judged =
        |name: &String| known.hosts.iter().any(|host| host.name == *name && host.verdict.is_some());
    kept.figures.iter_mut().for_each(|figure| figure.hosts.retain(|name, _| is_judged(name)));
    kept.figures.retain(|figure| !figure.hosts.is_empty());
    let test = known.plan.test;
    if test.is_mesh() {
        let mut seen = BTreeSet::new();
        kept.pairs.retain(|pair| {
            pair.failed.is_none() && pair.value(test).is_some() && seen.insert(pair_ends(test, pair))
        });
    } else {
        let senders = known.hosts.len().saturating_sub(1) * usize::from(known.plan.streams);
        let is_whole = |(step, rate): &(&FleetStep, &f64)| {
            step.rate_per_s == **rate && step.failed.is_empty() && step.senders as usize == senders
        };
        let whole = known.steps.iter().zip(&known.plan.rates_per_s).take_while(is_whole).count();
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

/// The two ends of a pair; a transfer has a direction, round trips have none.
pub fn ends(test: FleetTest, from: &str, to: &str) -> (String, String) {
    let (from, to) = if test == FleetTest::Throughput { (from, to) } else { (from.min(to), from.max(to)) };
    (from.into(), to.into())
}

pub fn pair_ends(test: FleetTest, pair: &FleetPair) -> (String, String) {
    ends(test, &pair.from, &pair.to)
}

#[cfg(test)]
pub mod tests {
    use netfathom_model::plan::FleetPlan;
    use netfathom_model::record::FleetFigure;
    use netfathom_model::verdict::Verdict;

    use super::*;

    fn pair(from: &str, to: &str, round: u32) -> FleetPair {
        FleetPair { from: from.into(), to: to.into(), round, ..FleetPair::default() }
    }

    #[test]
    fn a_pair_is_kept_once_and_with_a_value() {
        let pairs = [("a", "b", Some(1)), ("a", "b", Some(2)), ("b", "a", Some(3)), ("a", "c", None)];
        for (test, left) in [(FleetTest::Throughput, 2), (FleetTest::Loss, 1)] {
            let mut known = nothing(test);
            known.pairs = pairs
                .iter()
                .map(|&(from, to, lost)| FleetPair {
                    bytes_per_s: lost.map(|_| 1e6),
                    sent: lost.map(|_| 10),
                    lost,
                    ..pair(from, to, 0)
                })
                .collect();
            assert_eq!(kept(&known).pairs.len(), left, "{test:?}");
        }
    }

    #[test]
    fn a_load_goes_on_at_the_first_step_in_which_a_sender_was_missing() {
        let step = |senders, failed: &[&str]| FleetStep {
            rate_per_s: 1e3,
            senders,
            failed: failed.iter().map(|host| ((*host).to_owned(), "gone".to_owned())).collect(),
            ..FleetStep::default()
        };
        let mut known = nothing(FleetTest::Load);
        known.hosts = ["a", "b", "c"].map(host).into();
        known.steps = vec![step(2, &[]), step(1, &["c"]), step(2, &[])];
        known.pairs = vec![pair("a", "b", 0), pair("a", "b", 1), pair("a", "b", 2)];
        known.cut = Some("the server is gone".into());
        let goes_on = kept(&known);
        assert_eq!((goes_on.steps.len(), goes_on.pairs.len(), goes_on.cut), (1, 1, None));
        // One that was absent from the start is in no step's list of failures.
        known.steps = vec![step(1, &[]), step(1, &[])];
        assert_eq!(kept(&known).steps.len(), 0);
    }

    #[test]
    fn figures_of_a_host_that_is_measured_again_are_not_kept() {
        let mut known = nothing(FleetTest::Stack);
        known.hosts = ["a", "b"].map(host).into();
        known.hosts[0].verdict = Some(Verdict::default());
        let (name, title, unit) = (String::new(), String::new(), String::new());
        let hosts = ["a", "b"].map(|name| (name.to_owned(), 1.0)).into();
        known.figures = vec![FleetFigure { name, title, unit, less: true, main: true, hosts }];
        assert_eq!(kept(&known).figures[0].hosts.keys().collect::<Vec<_>>(), ["a"]);
        known.hosts[0].verdict = None;
        assert!(kept(&known).figures.is_empty());
    }

    fn host(name: &str) -> FleetHost {
        super::super::absent(name, "not yet")
    }

    pub fn nothing(test: FleetTest) -> FleetResult {
        let plan = FleetPlan { test, streams: 1, rates_per_s: vec![1e3; 3], ..FleetPlan::default() };
        FleetResult { plan, ..FleetResult::default() }
    }
}
