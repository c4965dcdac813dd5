//! What interception itself takes: the paper's table 1, with other observers beside it.

use netfathom_model::plan::{Interception, ReproducePlan};
use netfathom_model::record::{
    BesideRow, BesideTable, Cell, Claim, Comparison, Effect, Figure, FigureKind, FigurePoint, FigureSeries,
    Origin, ReproducedRun,
};
use netfathom_stats::Estimate;

use super::originals;
use super::ours::Ours;
use super::tables::plain;
use crate::Report;
use crate::claim::{above, below, written};

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
        "Both are armed for the calls that open files and start programs, and look for six files. strace, perf trace and \
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
    if plan.quick {
        list.push("The short form: a smaller tree and fewer trials.".into());
    }
    list
}

fn table(ours: Option<&Ours<'_>>, rows: &[Row<'_>]) -> BesideTable {
    let [(_, bare), (_, with)] = originals::interception();
    let seconds = |who: &str, times: [f64; 3], slowdown| BesideRow {
        who: format!("Qian & Wang, {who}"),
        here: false,
        cells: [slowdown].into_iter().chain(times.map(|s| Some(plain(s)))).collect(),
    };
    let here = rows.iter().map(|(way, found)| {
        let slowdown = Cell {
            value: 100.0 * (found.ratio.value - 1.0),
            half_width: Some(100.0 * found.ratio.half_width),
            printed: None,
        };
        BesideRow {
            who: format!("here, {}", way.name()),
            here: true,
            cells: [Some(slowdown)]
                .into_iter()
                .chain(ours.map_or([None; 3], |o| o.times_s(found.condition)).map(|s| s.map(plain)))
                .collect(),
        }
    });
    let bare_here = ours.zip(rows.first()).map(|(o, (_, found))| BesideRow {
        who: "here, not intercepted".into(),
        here: true,
        cells: [None].into_iter().chain(o.times_s(found.against).map(|s| s.map(plain))).collect(),
    });
    let theirs = [
        seconds("not intercepted", bare, None),
        seconds("intercepted", with, Some(plain(100.0 * (with[0] / bare[0] - 1.0)))),
    ];
    BesideTable {
        title: "A tar with intercepted system calls, beside a plain one (table 1)".into(),
        columns: ["slowdown, %", "total, s", "user, s", "system, s"].map(Into::into).into(),
        rows: theirs.into_iter().chain(bare_here).chain(here).collect(),
        note: Some(
            "Ours: geometric mean over the blocks, and half its 95 % interval; times are means of the trials.".into(),
        ),
    }
}

fn figure(rows: &[Row<'_>]) -> Figure {
    let [(_, bare), (_, with)] = originals::interception();
    let theirs = FigurePoint {
        x: 0.0,
        y: 100.0 * (with[0] / bare[0] - 1.0),
        half_width: None,
        label: Some("Qian & Wang's module".into()),
    };
    let here = rows.iter().zip(1..).map(|((way, found), x)| FigurePoint {
        x: f64::from(x),
        y: 100.0 * (found.ratio.value - 1.0),
        half_width: Some(100.0 * found.ratio.half_width),
        label: Some(way.name().into()),
    });
    Figure {
        title: "Slowdown of a tar by who sees its system calls".into(),
        x: "observer".into(),
        y: "slowdown, %".into(),
        kind: FigureKind::Bars,
        series: vec![
            FigureSeries { name: "Qian & Wang".into(), here: false, points: vec![theirs] },
            FigureSeries { name: "here".into(), here: true, points: here.collect() },
        ],
    }
}

fn claims(rows: &[Row<'_>]) -> Vec<Claim> {
    let of = |way: Interception| {
        let found = rows.iter().find(|(there, c)| *there == way && c.blocks >= 2)?.1;
        Some(Estimate { value: found.ratio.value, half_width: found.ratio.half_width })
    };
    let percent = |e: Option<Estimate>| {
        let e = e.map(|e| Estimate { value: 100.0 * (e.value - 1.0), half_width: 100.0 * e.half_width });
        format!("{} %", written(e, 2))
    };
    let tracepoints = of(Interception::Tracepoints);
    let mut claims = vec![Claim {
        origin: Origin::Source,
        says: format!("interception takes next to nothing (below {:.1} %)", 100.0 * NEXT_TO_NOTHING),
        there: "table 1: 154.219 s without, 154.458 s with it: 0.15 %, which can be neglected".into(),
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
