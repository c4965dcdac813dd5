//! `netfathom fleet`: which host or pair is different, what one host takes of all, and who is missing.

mod alone;
mod load;
mod mesh;

use netfathom_model::print::counted;
use std::collections::BTreeSet;

use netfathom_model::grouping::by_key;
use netfathom_model::plan::FleetTest;
use netfathom_model::print::{self, bit_rate, percent, time};
use netfathom_model::record::{FleetClock, FleetHost, FleetResult, HostEffect, Side};
use netfathom_model::verdict::Verdict;

use super::{Body, Story, Words, place::Site};
use crate::page::{Page, Table};

impl Story for FleetResult {
    fn body(&self) -> Body<'_> {
        let mut page = Page::default();
        match self.plan.test {
            FleetTest::Load => load::draw(&mut page, self),
            FleetTest::Stack | FleetTest::Capacity => alone::draw(&mut page, self),
            _ => mesh::draw(&mut page, self),
        }
        hosts(&mut page, self);
        let plan = plan(self);
        super::asked_for(&mut page, &plan);
        Body {
            title: "Many hosts, one measurement".into(),
            done: done(self),
            page,
            remarks: remarks(self),
            plan,
            left_out: &[],
        }
    }

    fn answer(&self) -> String {
        match self.plan.test {
            FleetTest::Load => load::answer(self),
            FleetTest::Stack | FleetTest::Capacity => alone::answer(self),
            _ => mesh::answer(self),
        }
    }

    fn site(&self) -> Site {
        Site::Elsewhere("a fleet")
    }

    fn partial(&self) -> Option<String> {
        let (took_part, all) = (self.took_part(), self.hosts.len());
        let (pairs, planned) = (self.measured().count(), self.planned_pairs);
        match () {
            () if took_part < all => Some(format!("PARTIAL {took_part} of {all}")),
            () if self.is_partial() && planned > 0 => Some(format!("PARTIAL {pairs} of {planned}")),
            () if self.is_partial() => Some("PARTIAL".into()),
            () => None,
        }
    }
}

fn done(result: &FleetResult) -> String {
    match result.plan.test {
        FleetTest::Load => counted(result.steps.len(), "step"),
        FleetTest::Stack | FleetTest::Capacity => counted(result.took_part(), "host"),
        _ => format!("{} of {} pairs", result.measured().count(), result.planned_pairs),
    }
}

/// A value of the test, in its unit.
fn value(test: FleetTest, value: f64) -> String {
    match test {
        FleetTest::Throughput => bit_rate(value),
        FleetTest::Latency => time(value),
        _ => percent(value),
    }
}

fn remarks(result: &FleetResult) -> Vec<String> {
    let resumed =
        result.resumed_from.as_ref().map(|id| format!("resumes {id}, and includes what that run measured"));
    let others = result.outliers().skip(1).map(|e| sentence(result, e));
    let resume = (result.is_partial() && !result.pairs.is_empty())
        .then(|| "netfathom fleet resume measures what is missing".to_owned());
    let mut remarks: Vec<String> = resumed.into_iter().chain(resume).chain(others).collect();
    if let Some(start) = result.start {
        let late = start.late_p99_ns.map_or_else(String::new, |ns| {
            let waited = start.waited.map(|share| format!(" ({} of it waiting for a CPU)", percent(share)));
            format!("; 99 % of them at most {} late{}", time(ns as f64), waited.unwrap_or_default())
        });
        remarks.push(format!(
            "senders started within {} of each other (median of {}; largest {}){late}; {}",
            time(start.spread_p50_ns as f64),
            counted(start.rounds, "round"),
            time(start.spread_max_ns as f64),
            start.bound_ns.map_or_else(
                || "the clocks were not compared".into(),
                |bound| format!("clocks compared to ± {}", time(bound as f64))
            ),
        ));
    }
    remarks
}

fn sentence(result: &FleetResult, effect: &HostEffect) -> String {
    let HostEffect { host, worse, pairs, ratio, .. } = effect;
    let cause = effect.cause.as_ref().map_or_else(String::new, |cause| format!(": {cause}"));
    let side = match effect.side {
        Side::Both if cause.is_empty() => String::new(),
        Side::Both => format!(" ({}{cause})", Side::Both.name()),
        side => format!(" ({} side{cause})", side.name()),
    };
    match result.plan.test {
        FleetTest::Throughput => format!(
            "{host} is slow: {worse} of {pairs} pairs with it reach {} of the median{side}",
            percent(*ratio)
        ),
        FleetTest::Loss => {
            format!("{host} loses messages: {worse} of {pairs} pairs with it lose more than the median")
        }
        FleetTest::Latency => {
            format!("{host} is slow: {worse} of {pairs} pairs with it take {} the median", times(*ratio))
        }
        _ => {
            let figure = effect.figure.as_deref().unwrap_or_default();
            format!("{host} is different: its {figure} is {} the median of the others{cause}", times(*ratio))
        }
    }
}

fn times(ratio: f64) -> String {
    format!("{} times", print::grouped(ratio, print::decimals(ratio)))
}

fn plan(result: &FleetResult) -> Words {
    let plan = &result.plan;
    let mut words = vec![
        ("fleet", plan.fleet.clone()),
        ("measurement", plan.test.name().to_owned()),
        ("time", netfathom_model::units::format_duration(plan.time_ns)),
    ];
    if plan.test == FleetTest::Throughput {
        words.push(("connections of a pair", plan.streams.to_string()));
    } else {
        words.push(("rates", print::listed(plan.rates_per_s.iter().map(|&rate| print::rate(rate)))));
        words.push(("message", format!("{} bytes", plan.size_bytes)));
    }
    if plan.test == FleetTest::Load && plan.streams > 1 {
        words.push(("senders on each host", plan.streams.to_string()));
    }
    words.extend(plan.peers.map(|n| ("peers of each host", n.to_string())));
    words.extend(plan.parallel.map(|n| ("at the same time", n.to_string())));
    words.extend(plan.to.clone().map(|to| ("receiver", to)));
    words
}

fn hosts(page: &mut Page, result: &FleetResult) {
    page.heading("Hosts");
    page.table(listed(&result.hosts));
    page.note("clock: ahead of the first host; ±: the bound, half of the shortest round trip");
}

fn listed(hosts: &[FleetHost]) -> Table {
    let mut table = Table::of("<host|<address|clock|CPUs|<");
    let differ = hosts.iter().filter_map(|host| host.version.as_ref()).collect::<BTreeSet<_>>().len() > 1;
    for host in hosts {
        let none = || "n/a".to_owned();
        let clock = |c: FleetClock| format!("{} ± {}", time(c.offset_ns as f64), time(c.bound_ns as f64));
        let labels: Vec<String> = host.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
        // What has one reason stands together.
        let lacks = by_key(host.lacks.iter().map(|(what, why)| (why, what.as_str())));
        let lacks = lacks.iter().map(|(why, what)| format!("no {}: {why}", what.join(", "))).collect();
        let version = host.version.iter().filter(|_| differ).cloned().collect();
        let worst = |own: &'_ Verdict| own.reasons.iter().max_by_key(|reason| reason.level).cloned();
        let own: Vec<String> = (host.verdict.iter().filter_map(worst))
            .map(|reason| format!("{}: {}", reason.named(), reason.text))
            .collect();
        let about = match &host.missing {
            Some(why) => format!("missing: {why}"),
            None => [own, version, labels, lacks].concat().join("; "),
        };
        let figures = [
            host.name.clone(),
            host.address.clone().unwrap_or_else(none),
            host.clock.map_or_else(none, clock),
            host.cpus.map_or_else(none, |n| n.to_string()),
        ];
        table.row_open(&figures, &about);
    }
    table
}

/// The hosts that answer, as a page of its own.
pub fn page_of(hosts: &[FleetHost]) -> Page {
    let mut page = Page::default();
    let there = hosts.iter().filter(|host| host.missing.is_none()).count();
    // The first host's own is the one that others are compared with.
    let bound = hosts.iter().skip(1).filter_map(|host| host.clock).map(|clock| clock.bound_ns).max();
    let clocks =
        bound.map_or_else(String::new, |ns| format!("; their clocks are known to ± {}", time(ns as f64)));
    let versions: BTreeSet<&str> = hosts.iter().filter_map(|host| host.version.as_deref()).collect();
    let versions = versions.into_iter().collect::<Vec<_>>().join(" and ");
    let with = if versions.is_empty() { versions } else { format!(" with {versions}") };
    page.text(&format!("{there} of {} hosts answer{with}{clocks}.", hosts.len()));
    page.main("Hosts");
    page.table(listed(hosts));
    page
}
