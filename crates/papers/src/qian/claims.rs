//! What the paper says, and whether it holds here.

use netfathom_model::record::{Claim, Holds, Origin};

use super::originals::{Level, Original};
use super::ours::Ours;
use crate::claim::{above, below, percent, percent_more, ratio, written};

/// Nearly nothing, as the paper's lightest load takes by its table 2 (0.6 %).
const NEARLY_NOTHING: f64 = 0.03;
/// Batches of a program that a benchmark must span to be long enough.
const BATCHES: f64 = 10.0;
/// Above this PCost the paper finds that a system answers clearly slower (2.4).
const NOTICED_PCOST: f64 = 0.25;

pub fn all(original: &Original, ours: Option<&Ours<'_>>) -> Vec<Claim> {
    let [lightest, .., heaviest] = original.levels else { return Vec::new() };
    let short = |claim| in_a_short_tar(claim, original, ours);
    vec![
        short(rises(original, lightest, heaviest, ours)),
        short(light(original, lightest, ours)),
        heavy(original, heaviest, ours),
    ]
}

/// What light loads take is chance in a tar that has few of the program's batches: undecided, with what it needs.
pub fn in_a_short_tar(claim: Claim, original: &Original, ours: Option<&Ours<'_>>) -> Claim {
    let (Some(batch_s), Some([Some(tar_s), ..])) = (original.batch_s, ours.map(|o| o.times_s(0))) else {
        return claim;
    };
    if tar_s >= BATCHES * batch_s {
        return claim;
    }
    let here = format!(
        "{}; but the tar took {tar_s:.1} s, and tcpdump gets its packets up to {batch_s} s late: it needs {BATCHES} times that, \
         as the full form has on most machines",
        claim.here
    );
    Claim { here, holds: Holds::CannotTell, ..claim }
}

fn printed(original: &Original, level: &Level) -> String {
    original.cost(level.theirs).map_or_else(String::new, |cost| {
        let Level { theirs, .. } = level;
        format!(
            "{}, {theirs}: {:.1} % (computed), PCost {:.0} %{}",
            original.table,
            100.0 * cost.slowdown,
            100.0 * cost.pcost,
            if level.printed_percent.is_some() { "" } else { " (computed)" }
        )
    })
}

fn rises(original: &Original, lightest: &Level, heaviest: &Level, ours: Option<&Ours<'_>>) -> Claim {
    let of = |level: &Level| ours.and_then(|o| Some(o.pcosts(o.beside(level.ours)?))).unwrap_or_default();
    let points = of(heaviest).less(&of(lightest)).estimate();
    let each = [lightest, heaviest].map(|level| format!("{}: PCost {}", level.ours, pcost(level, ours)));
    Claim {
        origin: Origin::Source,
        says: format!(
            "The PCost of {} is higher where it has most to do than where it has least",
            original.who
        ),
        there: format!("{}; {}", printed(original, lightest), printed(original, heaviest)),
        here: format!(
            "{}: {} points more (95 % intervals between blocks)",
            each.join("; "),
            written(points.map(percent), 1)
        ),
        holds: above(points, 0.0),
    }
}

fn light(original: &Original, level: &Level, ours: Option<&Ours<'_>>) -> Claim {
    let found = ratio(ours.and_then(|o| o.beside(level.ours)));
    Claim {
        origin: Origin::Ours,
        says: format!("with little to do it takes nearly nothing (below {:.0} %)", 100.0 * NEARLY_NOTHING),
        there: printed(original, level),
        here: format!("{}: {} %", level.ours, written(found.map(percent_more), 1)),
        holds: below(found, 1.0 + NEARLY_NOTHING),
    }
}

fn heavy(original: &Original, level: &Level, ours: Option<&Ours<'_>>) -> Claim {
    Claim {
        origin: Origin::Ours,
        says: format!(
            "with much to do its PCost is above {:.0} %, the paper's threshold",
            100.0 * NOTICED_PCOST
        ),
        there: format!(
            "{}; beyond the threshold the system answers clearly slower when another process is started (2.4), which is not \
             measured here",
            printed(original, level)
        ),
        here: format!("{}: PCost {}", level.ours, pcost(level, ours)),
        holds: above(ours.and_then(|o| o.pcost(o.beside(level.ours)?)), NOTICED_PCOST),
    }
}

fn pcost(level: &Level, ours: Option<&Ours<'_>>) -> String {
    let found = ours.and_then(|o| o.pcost(o.beside(level.ours)?));
    format!("{} %", written(found.map(percent), 1))
}
