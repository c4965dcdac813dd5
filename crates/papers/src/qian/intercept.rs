//! What interception itself takes: the paper's table 1, with other observers beside it.

use netfathom_model::plan::{Interception, ReproducePlan};
use netfathom_model::record::{BesideTable, Cell, Claim, Comparison, Effect, Figure, Origin, ReproducedRun};
use netfathom_stats::Estimate;

use super::originals;
use super::ours::Ours;
use crate::Report;
use crate::beside::{self, HERE, bar, beside_table, estimate, own, plain, short, source};
use crate::claim::{above, below, percent_more, ratio, written};

/// What is asked of ours: no more than this part.
const NEXT_TO_NOTHING: f64 = 0.005;

/// An observer, and what it takes.
type Row<'a> = (Interception, &'a Comparison);

fn rows<'a>(ours: &Ours<'a>) -> Vec<Row<'a>> {
    let way = |c: &'a Comparison| Some((ours.result.conditions.get(c.condition)?.way?, c));
    ours.tar.of_effect(Effect::Observation).filter_map(way).collect()
}

pub fn tell(plan: &ReproducePlan, runs: &[ReproducedRun]) -> Report {
    let ours = Ours::of(runs);
    let rows = ours.as_ref().map(rows).unwrap_or_default();
    Report {
        differences: differences(plan, &rows),
        tables: vec![table(ours.as_ref(), &rows)],
        figures: vec![figure(&rows)],
        claims: claims(&rows),
        ..Report::default()
    }
}

fn differences(plan: &ReproducePlan, rows: &[Row<'_>]) -> Vec<String> {
    let mut list = vec![
        "The paper's interception was a module in the kernel that replaced system calls. Ours is none: programs at \
         tracepoints, or seccomp notification."
            .to_owned(),
        "Both are armed for the calls that open files, and look for six files; the start is a clock read before \
         execve. strace, perf trace and \
         bpftrace run as one would run them, with their output thrown away."
            .to_owned(),
    ];
    let missing = [Interception::Strace, Interception::PerfTrace, Interception::Bpftrace];
    let absent: Vec<&str> = missing
        .into_iter()
        .filter(|way| rows.iter().all(|(there, _)| there != way))
        .map(Interception::name)
        .collect();
    if !rows.is_empty() && !absent.is_empty() {
        list.push(format!("Not installed here, or not working: {}.", absent.join("; ")));
    }
    list.push("Table 1 is the mean of 11 runs, the highest left out. Ours are blocks there and back, and their geometric mean.".into());
    list.push("The tar compresses with gzip, as the paper's seems to by its times (61 of 154 s in user mode); one that only reads \
               spends far more of its time in system calls, and loses more.".into());
    list.extend(short(plan, "a smaller tree and fewer trials"));
    list
}

fn table(ours: Option<&Ours<'_>>, rows: &[Row<'_>]) -> BesideTable {
    let [bare, with] = originals::interception();
    let cells = |slowdown: Option<Cell>, times_s: [Option<f64>; 3]| {
        [slowdown].into_iter().chain(times_s.map(|s| s.map(plain))).collect()
    };
    let times_s = |condition| ours.map_or([None; 3], |o| o.times_s(condition));
    let here = rows.iter().map(|(way, found)| {
        let slowdown = estimate(percent_more(found.ratio));
        own(format!("here, {}", way.name()), cells(Some(slowdown), times_s(found.condition)))
    });
    let bare_here =
        rows.first().map(|(_, found)| own("here, not intercepted", cells(None, times_s(found.against))));
    let theirs = [
        source("Qian & Wang, not intercepted", cells(None, bare.map(Some))),
        source(
            "Qian & Wang, intercepted",
            cells(Some(plain(originals::interception_percent())), with.map(Some)),
        ),
    ];
    beside_table(
        "A tar with intercepted system calls, beside a plain one (table 1)",
        "slowdown, %|total, s|user, s|system, s",
        theirs.into_iter().chain(bare_here).chain(here),
        "The paper's slowdown is computed from its total times. Ours: geometric mean over the blocks, and half its 95 % \
         interval; times are means of the trials. User and system time under another program include that program's; perf \
         trace does not wait for the tar, so the tar's own are missing there.",
    )
}

fn figure(rows: &[Row<'_>]) -> Figure {
    let theirs = bar(0.0, plain(originals::interception_percent()), "Qian & Wang's module");
    let here = rows
        .iter()
        .zip(1..)
        .map(|((way, found), x)| bar(f64::from(x), estimate(percent_more(found.ratio)), way.name()));
    let series = vec![beside::theirs("Qian & Wang", vec![theirs]), beside::ours(HERE, here.collect())];
    beside::bars("Slowdown of a tar by who sees its system calls", ["observer", "slowdown, %"], series)
}

fn claims(rows: &[Row<'_>]) -> Vec<Claim> {
    let of = |way: Interception| ratio(rows.iter().find(|(there, _)| *there == way).map(|row| row.1));
    let percent = |ratio: Option<Estimate>| format!("{} %", written(ratio.map(percent_more), 2));
    let tracepoints = of(Interception::Tracepoints);
    let mut claims = vec![Claim {
        origin: Origin::Source,
        says: format!("interception takes next to nothing (below {:.1} %)", 100.0 * NEXT_TO_NOTHING),
        there:
            "2.2 and table 1: 154.219 s without, 154.458 s with it, which can be neglected; 0.15 % (computed)"
                .into(),
        here: format!("tracepoints: {}", percent(tracepoints)),
        holds: below(tracepoints, 1.0 + NEXT_TO_NOTHING),
    }];
    for other in [Interception::Strace, Interception::PerfTrace] {
        let theirs = of(other);
        if theirs.is_none() {
            continue;
        }
        claims.push(Claim {
            origin: Origin::Ours,
            says: format!("it takes less than {}", other.name()),
            there: "not in the paper".into(),
            here: format!("tracepoints: {}; {}: {}", percent(tracepoints), other.name(), percent(theirs)),
            holds: above(theirs.zip(tracepoints).map(|(theirs, ours)| theirs.over(ours)), 1.0),
        });
    }
    claims
}
