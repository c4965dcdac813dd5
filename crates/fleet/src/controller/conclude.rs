//! What all hosts together say: which is different, how close they started, and what is missing.

use std::collections::BTreeMap;

use netfathom_measure::ground::observer::Progressed;
use netfathom_measure::load::judge::ANOTHER_NETFATHOM;
use netfathom_model::plan::FleetTest;
use netfathom_model::print::{counted, percent};
use netfathom_model::record::{Distribution, FleetHost, FleetPair, FleetResult, FleetStart};
use netfathom_model::verdict::{Finding, Level, Verdict};
use netfathom_stats as stats;
use netfathom_stats::middle_of;

use crate::effect;

pub fn conclude(p: &mut Progressed<FleetResult>) {
    let result = &mut p.result;
    let names: Vec<String> = result.hosts.iter().map(|host| host.name.clone()).collect();
    let test = result.plan.test;
    result.effects = match test {
        test if test.is_mesh() => effect::judge(&names, &mut result.pairs, test),
        FleetTest::Stack | FleetTest::Capacity => effect::judge_figures(&result.figures),
        _ => Vec::new(),
    };
    result.merged = merged(result.pairs.iter().filter_map(|pair| pair.round_trip.as_ref()));
    result.start = start(&result.hosts, &result.pairs);
    p.verdict = verdict(&p.result);
    p.findings = findings(&p.result);
}

/// Histograms and moments of all, added: a percentile of the sum is that of all values, to one bucket.
pub fn merged<'a>(all: impl Iterator<Item = &'a Distribution>) -> Option<Distribution> {
    let sum = all.map(stats::Distribution::from).reduce(|mut a, b| {
        a.merge(&b);
        a
    })?;
    Some((&sum).into())
}

fn start(hosts: &[FleetHost], pairs: &[FleetPair]) -> Option<FleetStart> {
    let mut rounds: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
    for pair in pairs {
        rounds.entry(pair.round).or_default().extend(pair.late_ns);
    }
    let spread = |late: &Vec<i64>| Some((late.iter().max()? - late.iter().min()?).unsigned_abs());
    let spreads: Vec<u64> = rounds.values().filter(|late| late.len() > 1).filter_map(spread).collect();
    // A clock that is set meanwhile can make it negative.
    let late_ns = |pair: &FleetPair| pair.late_ns.map(|ns| ns.max(0) as u64);
    let mut late: Vec<u64> = pairs.iter().filter_map(late_ns).collect();
    late.sort_unstable();
    let waited_ns = |pair: &FleetPair| Some(late_ns(pair)?.min(pair.start_waited_ns?));
    let counted = pairs.iter().filter(|pair| pair.late_ns.is_some()).map(waited_ns);
    let waited = counted.sum::<Option<u64>>().map(|ns| ns as f64 / late.iter().sum::<u64>().max(1) as f64);
    let there = hosts.iter().filter(|host| host.address.is_some());
    let bounds: Option<Vec<u64>> = there.map(|host| Some(host.clock?.bound_ns)).collect();
    // Both are compared with the first.
    let bound_ns = bounds.map(|mut bounds| {
        bounds.sort_unstable_by(|a, b| b.cmp(a));
        bounds.iter().take(2).sum()
    });
    Some(FleetStart {
        rounds: spreads.len() as u32,
        spread_p50_ns: middle_of(spreads.iter().map(|&ns| ns as f64))? as u64,
        spread_max_ns: spreads.iter().copied().max()?,
        late_p99_ns: late.get((late.len() * 99).div_ceil(100).saturating_sub(1)).copied(),
        late_max_ns: *late.last()?,
        waited,
        bound_ns,
    })
}

fn verdict(result: &FleetResult) -> Verdict {
    let mut verdict = Verdict::default();
    if let Some(why) = &result.cut {
        let (done, planned) = (result.measured().count(), result.planned_pairs);
        let so_far = if planned > 0 { format!(" after {done} of {planned} pairs") } else { String::new() };
        verdict.lower(Level::Degraded, format!("ended{so_far}: {why}"));
    }
    let missing: Vec<String> =
        result.hosts.iter().filter_map(|h| Some(format!("{} ({})", h.name, h.missing.as_ref()?))).collect();
    if !missing.is_empty() {
        verdict.lower(Level::Degraded, format!("missing: {}", missing.join(", ")));
    }
    lower_by_hosts(&mut verdict, result);
    // A pair of a missing host is missing with it.
    let is_there = |name: &str| result.hosts.iter().any(|h| h.name == name && h.missing.is_none());
    let failed = |pair: &&FleetPair| pair.failed.is_some() && is_there(&pair.from) && is_there(&pair.to);
    let failed: Vec<String> = (result.pairs.iter().filter(failed))
        .map(|pair| format!("{} to {} ({})", pair.from, pair.to, pair.failed.as_deref().unwrap_or_default()))
        .collect();
    if let Some(first) = failed.first() {
        let more = match failed.len() - 1 {
            0 => String::new(),
            1 => " and another pair".into(),
            n => format!(" and {n} more pairs"),
        };
        verdict.lower(Level::Degraded, format!("failed: {first}{more}"));
    }
    verdict
}

/// By what each host says of its own figures; those that it does not vouch for are not among them.
fn lower_by_hosts(verdict: &mut Verdict, result: &FleetResult) {
    let judged: Vec<(&str, &Verdict)> =
        result.hosts.iter().filter_map(|host| Some((host.name.as_str(), host.verdict.as_ref()?))).collect();
    for level in [Level::Void, Level::Degraded] {
        // A part that the host's answer does not use may be VOID; the figures of that part are left out.
        let reason = |own: &'_ Verdict| {
            let counts = own.level == level || level == Level::Void;
            own.reasons.iter().find(|reason| counts && reason.level == level).cloned()
        };
        let of_level: Vec<_> = judged.iter().filter_map(|(name, own)| Some((name, reason(own)?))).collect();
        let [(first, reason), others @ ..] = &of_level[..] else { continue };
        let more = match others.len() {
            0 => String::new(),
            n => format!(" and {}", counted(n, "more host")),
        };
        let (lowered, left_out) = match level {
            Level::Void if result.figures.is_empty() => (Level::Void, ""),
            Level::Void => (Level::Degraded, "; the figures concerned are left out"),
            _ => (Level::Degraded, ""),
        };
        let (named, text) = (reason.named(), &reason.text);
        let in_turn = in_turn(result, first, text);
        verdict.lower(lowered, format!("{first}{more}: {named}: {text}{left_out}{in_turn}"));
    }
}

/// What helps a host on a machine with other agents, if its reason is that such a one had its CPU.
fn in_turn(result: &FleetResult, name: &str, reason: &str) -> &'static str {
    let own = result.hosts.iter().find(|host| host.name == name).and_then(|host| host.address.as_ref());
    let is_beside = |host: &FleetHost| {
        host.name != name && host.verdict.is_some() && own.is_some() && host.address.as_ref() == own
    };
    let can_be = result.plan.parallel != Some(1) && reason.contains(ANOTHER_NETFATHOM);
    if can_be && result.hosts.iter().any(is_beside) {
        "; other agents measured on its machine, too: --parallel 1"
    } else {
        ""
    }
}

fn findings(result: &FleetResult) -> Vec<Finding> {
    let finding = |effect: &netfathom_model::record::HostEffect| Finding {
        seen: match (&effect.figure, result.plan.test) {
            (Some(figure), _) => format!(
                "{} is different: its {figure} is {} of the median",
                effect.host,
                percent(effect.ratio)
            ),
            (None, FleetTest::Loss) => {
                format!("{} loses messages: its pairs lose more than the others", effect.host)
            }
            (None, FleetTest::Latency) => {
                format!("{} is slow: its pairs take {:.1} times the median", effect.host, effect.ratio)
            }
            (None, _) => {
                format!("{} is slow: its pairs reach {} of the median", effect.host, percent(effect.ratio))
            }
        },
        cause: effect.cause.clone().unwrap_or_else(|| "not seen from the transfers themselves".into()),
        evidence: format!(
            "{} of {} pairs with it are worse than the median of the pairs without it; {:.0} times what chance does",
            effect.worse,
            effect.pairs,
            effect.strength.abs().min(999.0)
        ),
        remedy: match result.plan.test {
            FleetTest::Throughput => format!(
                "on {}: netfathom host, and netfathom ttcp -t --explain to a good host with netfathom ttcp -r",
                effect.host
            ),
            _ => format!("on {}: netfathom host, netfathom stack", effect.host),
        },
    };
    result.outliers().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::FleetFigure;
    use netfathom_model::verdict::Part;

    use super::super::absent;
    use super::super::resume::tests::nothing;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_late_start_waited_for_a_cpu_no_longer_than_it_was_late() {
        let pair = |(late_ns, start_waited_ns)| FleetPair {
            late_ns: Some(late_ns),
            start_waited_ns,
            ..FleetPair::default()
        };
        let starts = |pairs: &[(i64, Option<u64>)]| {
            start(&[], &pairs.iter().copied().map(pair).collect::<Vec<_>>()).unwrap()
        };
        let known = starts(&[(100, Some(900)), (300, Some(0)), (-50, Some(10))]);
        assert_eq!((known.late_p99_ns, known.late_max_ns, known.waited), (Some(300), 300, Some(0.25)));
        assert_eq!(starts(&[(100, Some(100)), (300, None)]).waited, None);
        let hundred: Vec<_> = (1..=100).map(|ns| (ns, None)).collect();
        assert_eq!(starts(&hundred).late_p99_ns, Some(99));
    }

    #[test]
    fn a_host_without_a_usable_result_lowers_the_verdict() {
        let host = |name: &str, level| {
            let mut own = Verdict::default();
            own.lower(level, "the generator was late");
            FleetHost { verdict: Some(own), ..absent(name, "") }
        };
        let of = |levels: &[Level], figures| {
            let mut result = nothing(FleetTest::Stack);
            result.hosts =
                levels.iter().zip(["a", "b", "c"]).map(|(&level, name)| host(name, level)).collect();
            result.hosts.iter_mut().for_each(|host| host.missing = None);
            result.figures = figures;
            verdict(&result)
        };
        let figure = || {
            let (name, title, unit) = (String::new(), String::new(), String::new());
            vec![FleetFigure { name, title, unit, less: true, main: true, hosts: BTreeMap::new() }]
        };
        let void = of(&[Level::Void, Level::Void], Vec::new());
        assert_eq!(
            (void.level, void.reasons[0].text.as_str()),
            (Level::Void, "a and 1 more host: VOID: the generator was late")
        );
        let some = of(&[Level::Valid, Level::Void, Level::Degraded], figure());
        let texts: Vec<&str> = some.reasons.iter().map(|reason| reason.text.as_str()).collect();
        let mut partly = Verdict::default();
        partly.lower_only(&[Part::Load], Level::Void, "slots were missed");
        let mut result = nothing(FleetTest::Stack);
        let own = Some(partly.answered_by(&[Part::Tx]));
        result.hosts = vec![FleetHost { verdict: own, missing: None, ..absent("a", "") }];
        result.figures = figure();
        let partly = verdict(&result);
        let text = "a: load VOID: slots were missed; the figures concerned are left out";
        assert_eq!((partly.level, partly.reasons[0].text.as_str()), (Level::Degraded, text));
        let left_out = "b: VOID: the generator was late; the figures concerned are left out";
        assert_eq!(
            (some.level, texts),
            (Level::Degraded, vec![left_out, "c: DEGRADED: the generator was late"])
        );
    }

    #[test]
    fn agents_of_one_machine_are_to_measure_in_turn() {
        let late = "late: run one at a time, or on CPUs of their own: another netfathom (pid 5) had CPU 1";
        let is_advised = |(addresses, parallel, why): ([&str; 2], Option<u32>, &str)| {
            let mut own = Verdict::default();
            own.lower(Level::Degraded, why);
            let host = |(name, address): (&str, &str)| FleetHost {
                address: Some(address.into()),
                verdict: Some(own.clone()),
                missing: None,
                ..absent(name, "")
            };
            let mut result = nothing(FleetTest::Stack);
            result.plan.parallel = parallel;
            result.hosts = ["a", "b"].into_iter().zip(addresses).map(host).collect();
            let advice = "; other agents measured on its machine, too: --parallel 1";
            verdict(&result).reasons[0].text.ends_with(advice)
        };
        let (one, two) = (["10.0.0.1"; 2], ["10.0.0.1", "10.0.0.2"]);
        let all = [(one, None, late), (two, None, late), (one, Some(1), late), (one, None, "uneven")];
        assert_eq!(all.map(is_advised), [true, false, false, false]);
    }

    proptest! {
        #[test]
        fn merged_quantiles_are_those_of_the_pooled_values_to_one_bucket(
            hosts in prop::collection::vec(prop::collection::vec(0_i64..5_000_000_000, 1..200), 1..12),
        ) {
            const GRAIN: u32 = 7;
            let parts: Vec<Distribution> = hosts.iter().map(|values| {
                let mut d = stats::Distribution::new(GRAIN);
                values.iter().for_each(|&v| d.add(v));
                (&d).into()
            }).collect();
            // As it comes over the wire.
            let text = serde_json::to_string(&parts).unwrap();
            let parts: Vec<Distribution> = serde_json::from_str(&text).unwrap();
            let sum = merged(parts.iter()).unwrap();
            let mut pooled: Vec<i64> = hosts.concat();
            pooled.sort_unstable();
            let all = [(0.5, sum.p50_ns), (0.9, sum.p90_ns), (0.99, sum.p99_ns), (0.999, sum.p999_ns)];
            for (q, merged) in all {
                let truth = pooled[((q * pooled.len() as f64).ceil() as usize).max(1) - 1];
                let (low, high) = stats::bucket_bounds(stats::bucket_index(truth as u64, GRAIN), GRAIN);
                prop_assert!((low as i64..high as i64).contains(&merged), "{q}: {merged} for {truth}");
            }
            prop_assert_eq!(sum.n, pooled.len() as u64);
            prop_assert_eq!(sum.sum_ns, pooled.iter().sum::<i64>());
        }
    }
}
