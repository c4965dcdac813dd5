//! Where every message ended, and what others counted.

use crate::page::{Cell, Page, Table};
use netfathom_model::print::counted;
use std::collections::{BTreeMap, BTreeSet};

use netfathom_model::accounting::{Accounting, Fate};
use netfathom_model::record::{Captured, Load};
use netfathom_model::verdict::Verdict;

use super::headline::mark;
use super::number::count;
use super::trial_number;

/// What is asked of a trial of any measurement.
pub(super) struct Kept<'a> {
    /// Its place in the run, from 0.
    pub index: u32,
    pub kind: &'static str,
    pub load: &'a Load,
    pub accounting: &'a Accounting,
    pub captured: &'a [Captured],
    pub verdict: &'a Verdict,
}

pub(super) fn draw(page: &mut Page, trials: &[Kept]) {
    if trials.is_empty() {
        return;
    }
    page.heading("Accounting, all trials");
    identity(page, trials);
    other_counts(page, trials);
    counters(page, trials);
    hooks(page, trials);
    captured(page, trials);
    page.details("each trial", |page| page.table(each(trials)));
    page.details("what each hook saw", |page| page.table(every_hook(trials)));
    page.details("other counters", |page| page.table(every_counter(trials)));
}

/// `sent = delivered + …`, and whether it closes.
fn identity(page: &mut Page, trials: &[Kept]) {
    let sent: u64 = trials.iter().map(|t| t.accounting.sent).sum();
    let mut fates = BTreeMap::new();
    for fate in trials.iter().flat_map(|t| &t.accounting.fates) {
        *fates.entry(&fate.fate).or_insert(0) += fate.count;
    }
    let parts: Vec<String> = fates.iter().map(|(f, &n)| format!("{} {}", f.name(), count(n))).collect();
    let gaps: Vec<&Kept> = trials.iter().filter(|t| t.accounting.gap() != 0).collect();
    let relation = if gaps.is_empty() { "=" } else { "≠" };
    let sum = if parts.is_empty() { "nothing accounted for".to_owned() } else { parts.join(" + ") };
    page.text(&format!("sent {} {relation} {sum}", count(sent)));
    if gaps.is_empty() && !fates.contains_key(&Fate::Unexplained) {
        let trials =
            if trials.len() == 1 { "the trial".into() } else { format!("all {} trials", trials.len()) };
        page.text(&format!("all messages are accounted for in {trials}"));
    }
    for trial in gaps {
        let gap = trial.accounting.gap();
        let what = if gap > 0 { "without an outcome" } else { "with more than one outcome" };
        page.bullet(&format!(
            "GAP in trial {}: {} messages {what}",
            trial_number(trial.index),
            count(gap.unsigned_abs())
        ));
    }
}

/// What the identity does not show; only what is there.
fn other_counts(page: &mut Page, trials: &[Kept]) {
    let sum = |value: fn(&Kept) -> u64| trials.iter().map(value).sum::<u64>();
    let counts = [
        ("never tried", sum(|t| t.load.unsent)),
        ("sent without a time", sum(|t| t.accounting.unjoined_tx)),
        ("received without a time", sum(|t| t.accounting.unjoined_rx)),
        ("received without stages", sum(|t| t.accounting.unstaged_rx)),
        ("received twice", sum(|t| t.accounting.duplicates)),
        ("out of order", sum(|t| t.accounting.reordered)),
        ("foreign", sum(|t| t.accounting.foreign)),
        ("segments retransmitted", sum(|t| t.accounting.retransmitted)),
        ("cut off", sum(|t| t.accounting.truncated)),
        ("no message at all", sum(|t| t.accounting.garbage)),
    ];
    let mut refused = BTreeMap::new();
    for r in trials.iter().flat_map(|t| &t.load.refused) {
        *refused.entry(format!("refused with {}", r.error)).or_insert(0) += r.count;
    }
    let refused = refused.iter().map(|(name, &n)| (name.as_str(), n));
    let there: Vec<String> =
        refused.chain(counts).filter(|c| c.1 > 0).map(|(name, n)| format!("{name} {}", count(n))).collect();
    if !there.is_empty() {
        page.text(&format!("also: {}", there.join(", ")));
    }
}

fn counters(page: &mut Page, trials: &[Kept]) {
    let all = || trials.iter().flat_map(|t| t.accounting.counters.iter().map(move |c| (t, c)));
    let (total, agreeing) = (all().count(), all().filter(|(_, c)| c.agrees()).count());
    if total == 0 {
        page.text("no counter but our own was read");
        return;
    }
    page.text(&format!("{agreeing} of {total} readings of the system's own counters agree"));
    for (trial, c) in all().filter(|(_, c)| !c.agrees()) {
        page.bullet(&format!(
            "DISAGREES in trial {}: {}: {} expected, {} observed",
            trial_number(trial.index),
            c.counter,
            count(c.expected),
            count(c.observed)
        ));
    }
}

fn hooks(page: &mut Page, trials: &[Kept]) {
    let all = || trials.iter().flat_map(|t| t.accounting.hooks.iter().map(move |h| (t, h)));
    if all().next().is_some() && all().all(|(_, h)| h.lost == 0) {
        page.text("every hook timed all messages that it saw");
    }
    for (trial, h) in all().filter(|(_, h)| h.lost > 0 && h.events > 0) {
        page.bullet(&format!(
            "trial {}: {} no time at {}; the means are of the other {}",
            trial_number(trial.index),
            if h.lost == 1 { "1 message has".into() } else { format!("{} messages have", count(h.lost)) },
            h.hook,
            count(h.events)
        ));
    }
    // Of those that time nothing by themselves.
    let mut unseen = BTreeMap::new();
    for (_, h) in all().filter(|(_, h)| h.lost > 0 && h.events == 0) {
        let (events, trials) = unseen.entry(&h.hook).or_insert((0, 0));
        (*events, *trials) = (*events + h.lost, *trials + 1);
    }
    for (hook, (events, of)) in unseen {
        let (events, of) = (counted(events, "event"), counted(of, "trial"));
        page.bullet(&format!("{events} of {hook} went unseen, in {of}; no time needs them"));
    }
}

/// What the pcap tap captured, the trials of one device and one way of capturing added up.
fn captured(page: &mut Page, trials: &[Kept]) {
    let mut sums = BTreeMap::new();
    for c in trials.iter().flat_map(|t| t.captured) {
        let sum = sums.entry((c.direction, &c.device, &c.by)).or_insert([0u64; 5]);
        let by_device = c.dropped_by_device.unwrap_or(0);
        for (total, part) in sum.iter_mut().zip([c.packets, c.dropped, by_device, c.duplicates, c.others]) {
            *total += part;
        }
    }
    for ((direction, device, by), [packets, dropped, by_device, duplicates, others]) in sums {
        let by_device =
            if by_device > 0 { format!("{} by the device, ", count(by_device)) } else { String::new() };
        page.text(&format!(
            "captured {} at {device} by {by}: {} packets, {} dropped for want of room, {by_device}{} duplicates, {} others",
            direction.name(),
            count(packets),
            count(dropped),
            count(duplicates),
            count(others)
        ));
    }
    for (trial, c) in trials.iter().flat_map(|t| t.captured.iter().map(move |c| (t, c))) {
        if c.dropped > 0 {
            page.bullet(&format!(
                "DROPPED in trial {}: {} of the packets at {}, because the capture had no room",
                trial_number(trial.index),
                count(c.dropped),
                c.device
            ));
        }
    }
}

fn each(trials: &[Kept]) -> Table {
    let fates: BTreeSet<&Fate> = trials.iter().flat_map(|t| &t.accounting.fates).map(|f| &f.fate).collect();
    type Counted = fn(&Kept) -> u64;
    let beside: [(&str, Counted); 9] = [
        ("gap", |t| t.accounting.gap().unsigned_abs()),
        ("refused", |t| t.load.refused.iter().map(|r| r.count).sum()),
        ("twice", |t| t.accounting.duplicates),
        ("out of order", |t| t.accounting.reordered),
        ("foreign", |t| t.accounting.foreign),
        ("cut off", |t| t.accounting.truncated),
        ("no message", |t| t.accounting.garbage),
        ("sent without a time", |t| t.accounting.unjoined_tx),
        ("received without a time", |t| t.accounting.unjoined_rx),
    ];
    let mut table = Table::of("trial|<kind|planned|sent")
        .figures(fates.iter().map(|fate| fate.name()))
        .figures(beside.map(|(name, _)| name))
        .words(["verdict"]);
    for t in trials {
        let mut cells: Vec<Cell> = vec![trial_number(t.index).into(), t.kind.into()];
        let counts = [t.load.planned, t.accounting.sent].into_iter();
        let counts = counts.chain(fates.iter().map(|fate| t.accounting.count(fate)));
        let counts = counts.chain(beside.iter().map(|(_, of)| of(t)));
        cells.extend(counts.map(|n| Cell::from(count(n))));
        cells.push(mark(t.verdict));
        table.row(cells);
    }
    table
}

fn every_hook(trials: &[Kept]) -> Table {
    let mut table = Table::of("trial|<hook|timed|not timed");
    for (t, h) in trials.iter().flat_map(|t| t.accounting.hooks.iter().map(move |h| (t, h))) {
        table.row([trial_number(t.index), h.hook.clone(), count(h.events), count(h.lost)]);
    }
    table
}

fn every_counter(trials: &[Kept]) -> Table {
    let mut table = Table::of("trial|<counter|expected|observed|<|<");
    for (t, c) in trials.iter().flat_map(|t| t.accounting.counters.iter().map(move |c| (t, c))) {
        table.row([
            trial_number(t.index),
            c.counter.clone(),
            count(c.expected),
            count(c.observed),
            if c.agrees() { "agrees" } else { "disagrees" }.into(),
            if c.shared { "other traffic may move it too" } else { "" }.into(),
        ]);
    }
    table
}
