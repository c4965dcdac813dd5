//! What the paper reads off its figure 1: PCost rises steeply up to 8 Mbit/s, slowly up to 24, and steeply beyond,
//! where tcpdump loses ever more packets (2.3).

use netfathom_model::record::{Claim, Holds, Origin};
use netfathom_stats::between_trials;

use super::claims::in_a_short_tar;
use super::originals::{Level, TCPDUMP};
use super::ours::{Ours, rises};
use crate::claim::{above, both, percent, written};

pub fn claims(ours: Option<&Ours<'_>>) -> Vec<Claim> {
    let [_, first, second, third, last] = TCPDUMP.levels else { return Vec::new() };
    // Per Mbit/s its own table rises from 40 to 80 Mbit/s even more slowly than from 8 to 24.
    vec![
        in_a_short_tar(steps([first, second, third], ours), &TCPDUMP, ours),
        loses_more([second, third, last], ours),
    ]
}

/// Points of PCost a Mbit/s on each step. The first begins without a load, where there is no PCost.
fn slopes(levels: [&Level; 3], [p, q, r]: [f64; 3]) -> [f64; 3] {
    let [a, b, c] = levels.map(|level| level.x);
    [p / a, (q - p) / (b - a), (r - q) / (c - b)].map(|slope| 100.0 * slope)
}

fn theirs(levels: [&Level; 3]) -> [f64; 3] {
    slopes(levels, levels.map(|level| TCPDUMP.cost(level.theirs).map_or(f64::NAN, |cost| cost.pcost)))
}

fn steps(levels: [&Level; 3], ours: Option<&Ours<'_>>) -> Claim {
    let of = |level: &Level| ours.and_then(|o| Some(o.pcosts(o.beside(level.ours)?))).unwrap_or_default();
    let [first, second, third] = levels.map(of);
    let of_block =
        |(block, p): (&u32, &f64)| Some(slopes(levels, [*p, *second.0.get(block)?, *third.0.get(block)?]));
    let blocks: Vec<[f64; 3]> = first.0.iter().filter_map(of_block).collect();
    let between = |of: fn(&[f64; 3]) -> f64| between_trials(&blocks.iter().map(of).collect::<Vec<_>>());
    let [a, b, c] = levels.map(|level| level.ours);
    let [there_a, there_b, there_c] = theirs(levels);
    Claim {
        origin: Origin::Source,
        says: format!("PCost rises steeply up to {a}, slowly up to {b}, and steeply again beyond"),
        there: format!(
            "2.3 and figure 1; by table 2 {there_a:.1} points a Mbit/s up to {a}, {there_b:.1} up to {b}, {there_c:.1} up to {c}"
        ),
        here: format!(
            "{} points a Mbit/s up to {a}, {} up to {b}, {} up to {c} (95 % intervals between blocks)",
            written(between(|s| s[0]), 2),
            written(between(|s| s[1]), 2),
            written(between(|s| s[2]), 2)
        ),
        holds: are_steps(&blocks),
    }
}

/// The middle one is flatter than the others.
fn are_steps(blocks: &[[f64; 3]]) -> Holds {
    let steeper = |step: usize| {
        let more: Vec<f64> = blocks.iter().map(|slopes| slopes[step] - slopes[1]).collect();
        above(between_trials(&more), 0.0)
    };
    both(steeper(0), steeper(2))
}

/// The levels are those beyond some 20 Mbit/s.
fn loses_more(levels: [&Level; 3], ours: Option<&Ours<'_>>) -> Claim {
    let lost = |level: &Level| {
        let of = |o: &Ours<'_>| Some(o.blocks(o.beside(level.ours)?.condition, |trial| trial.program?.lost));
        ours.and_then(of).unwrap_or_default()
    };
    let each = TCPDUMP
        .levels
        .iter()
        .map(|level| format!("{}: {} %", level.ours, written(lost(level).estimate().map(percent), 2)));
    Claim {
        origin: Origin::Source,
        says: format!("From {} on tcpdump loses the more packets the heavier the load is", levels[0].ours),
        there: "2.3: beyond twenty-odd Mbit/s its loss rises gradually; the paper prints no number of it"
            .into(),
        here: format!(
            "by tcpdump's own count, {} (95 % intervals between blocks)",
            each.collect::<Vec<_>>().join("; ")
        ),
        holds: rises(&levels.map(lost)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::Rounds;

    #[test]
    fn steps_are_decided_between_blocks() {
        assert_eq!(are_steps(&[[2.8, 0.6, 1.0], [2.9, 0.6, 1.0], [2.7, 0.6, 1.1]]), Holds::Yes);
        assert_eq!(are_steps(&[[2.8, 0.6, 0.3], [2.9, 0.6, 0.3]]), Holds::No);
        assert_eq!(are_steps(&[[2.8, 0.6, 1.0], [0.1, 0.5, 1.1]]), Holds::CannotTell);
        assert_eq!(are_steps(&[[2.8, 0.6, 1.0]]), Holds::CannotTell, "one block");
    }

    #[test]
    fn loss_rises_from_level_to_level_or_not() {
        let of = |levels: [[f64; 3]; 3]| rises(&levels.map(|blocks| (0..).zip(blocks).collect()));
        let (none, some, much) = ([0.0, 0.0, 0.001], [0.02, 0.021, 0.02], [0.4, 0.41, 0.4]);
        assert_eq!(of([none, some, much]), Holds::Yes);
        assert_eq!([of([some, none, much]), of([none, much, some])], [Holds::No; 2]);
        assert_eq!(
            of([none, none, much]),
            Holds::CannotTell,
            "a loss under the heaviest load alone is no rise"
        );
        let one_block = [none, some, much].map(|blocks| Rounds::from_iter([(0, blocks[0])]));
        assert_eq!(rises(&one_block), Holds::CannotTell);
    }

    #[test]
    fn the_papers_own_table_has_the_steps_up_to_40_and_not_to_80() {
        let [_, first, second, third, last] = TCPDUMP.levels else { panic!("{}", TCPDUMP.levels.len()) };
        let [a, b, c] = theirs([first, second, third]);
        assert!(a > 2.0 * b && c > 1.5 * b, "{a} {b} {c}");
        let [_, flat, beyond] = theirs([first, second, last]);
        assert!(beyond < flat, "{beyond} {flat}");
    }
}
