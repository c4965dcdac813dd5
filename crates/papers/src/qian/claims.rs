//! What the paper says, and whether it holds here.

use netfathom_model::record::{Claim, Comparison, Whose};
use netfathom_stats::Estimate;

use super::originals::{Level, Original};
use super::ours::Ours;
use crate::claim::{above, below, written};

/// Nearly nothing, as the paper's lightest load takes (0.6 %).
const NEARLY_NOTHING: f64 = 0.03;
/// Above this PCost the paper finds that a system answers clearly slower (2.4).
const NOTICED_PCOST: f64 = 0.25;

pub fn all(original: &Original, ours: Option<&Ours<'_>>) -> Vec<Claim> {
    let [lightest, .., heaviest] = original.levels else { return Vec::new() };
    vec![
        rises(original, lightest, heaviest, ours),
        light(original, lightest, ours),
        heavy(original, heaviest, ours),
    ]
}

fn estimate(found: Option<&Comparison>) -> Option<Estimate> {
    let found = found.filter(|c| c.blocks >= 2)?;
    Some(Estimate { value: found.ratio.value, half_width: found.ratio.half_width })
}

fn printed(original: &Original, level: &Level) -> String {
    original.cost(level.theirs).map_or_else(String::new, |cost| {
        let Level { theirs, .. } = level;
        format!(
            "{}, {theirs}: {:.1} %, PCost {:.0} %",
            original.table,
            100.0 * cost.slowdown,
            100.0 * cost.pcost
        )
    })
}

fn slowdown(ratio: Option<Estimate>) -> String {
    let percent =
        ratio.map(|r| Estimate { value: 100.0 * (r.value - 1.0), half_width: 100.0 * r.half_width });
    format!("{} %", written(percent, 1))
}

fn rises(original: &Original, lightest: &Level, heaviest: &Level, ours: Option<&Ours<'_>>) -> Claim {
    let [light, heavy] = [lightest, heaviest].map(|level| estimate(ours.and_then(|o| o.beside(level.ours))));
    let quotient = light.zip(heavy).map(|(light, heavy)| heavy.over(light));
    Claim {
        whose: Whose::Source,
        says: format!("{} takes more the more it has to do", original.who),
        there: format!("{}; {}", printed(original, lightest), printed(original, heaviest)),
        here: format!("{}: {}; {}: {}", lightest.ours, slowdown(light), heaviest.ours, slowdown(heavy)),
        holds: above(quotient, 1.0),
    }
}

fn light(original: &Original, level: &Level, ours: Option<&Ours<'_>>) -> Claim {
    let found = estimate(ours.and_then(|o| o.beside(level.ours)));
    Claim {
        whose: Whose::Ours,
        says: format!("with little to do it takes nearly nothing (below {:.0} %)", 100.0 * NEARLY_NOTHING),
        there: printed(original, level),
        here: format!("{}: {}", level.ours, slowdown(found)),
        holds: below(found, 1.0 + NEARLY_NOTHING),
    }
}

fn heavy(original: &Original, level: &Level, ours: Option<&Ours<'_>>) -> Claim {
    let pcost = ours.and_then(|o| o.pcost(o.beside(level.ours)?));
    let percent = pcost.map(|e| Estimate { value: 100.0 * e.value, half_width: 100.0 * e.half_width });
    Claim {
        whose: Whose::Source,
        says: format!(
            "with much to do its PCost is above {:.0} %, where a system answers clearly slower",
            100.0 * NOTICED_PCOST
        ),
        there: format!("{} (the threshold: 2.4)", printed(original, level)),
        here: format!("{}: PCost {} %", level.ours, written(percent, 1)),
        holds: above(pcost, NOTICED_PCOST),
    }
}
