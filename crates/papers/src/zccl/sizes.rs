//! Figure 7.4: two writes a message over sizes.

use netfathom_model::record::{Claim, Figure, FigurePoint, Origin};

use super::anomaly::THERE_US;
use super::figures::{AXIS, point};
use super::originals::WHO;
use super::ours::{Ours, mean_us, size};
use super::plans::ways;
use crate::beside::{self, HERE, plain};
use crate::claim::{ALIKE, within, written};
use crate::rounds::Rounds;

fn mean_ms(ours: &Ours<'_>, bytes: u64) -> Rounds {
    let [two, ..] = ways();
    let pair = ours.pairs().last().copied();
    pair.map_or_else(Rounds::default, |pair| ours.rounds(pair, bytes, &two.layer, mean_us)).times(1e-3)
}

/// A round trip takes as long whatever the size.
pub fn constant(ours: &Ours<'_>) -> Claim {
    let sizes = &ours.result.plan.sizes_bytes;
    let of = |bytes: Option<&u64>| bytes.map_or_else(Rounds::default, |&bytes| mean_ms(ours, bytes));
    let (first, last) = (of(sizes.first()), of(sizes.last()));
    let quotient = last.over(&first).estimate();
    let named = |bytes: Option<&u64>| bytes.map_or_else(String::new, |&bytes| size(bytes));
    Claim {
        origin: Origin::Source,
        says: "A round trip of two writes takes as long whatever the message's size".into(),
        there: "7.7.5 and figure 7.4: about 7.95 s for 100 messages of any size".into(),
        here: format!(
            "mean {} ms at {}, {} ms at {}: {} times as long; as long is an interval within {:.2} to {ALIKE:.2} (95 % \
             intervals between rounds of trials)",
            written(first.estimate(), 2),
            named(sizes.first()),
            written(last.estimate(), 2),
            named(sizes.last()),
            written(quotient, 2),
            1.0 / ALIKE
        ),
        holds: within(quotient, 1.0 / ALIKE, ALIKE),
    }
}

/// The figure itself, with the paper's one number as a line.
pub fn figure(ours: &Ours<'_>) -> Option<Figure> {
    let sizes = &ours.result.plan.sizes_bytes;
    let here = |&bytes: &u64| Some(point(bytes, mean_ms(ours, bytes).cell()?));
    let here: Vec<FigurePoint> = sizes.iter().filter_map(here).collect();
    let there = sizes.iter().map(|&bytes| point(bytes, plain(THERE_US / 1e3))).collect();
    (!here.is_empty()).then(|| {
        let title = "Round trips of two writes over the message's size (figure 7.4)";
        let there = beside::theirs(format!("{WHO}, as its text has it"), there);
        beside::lines(title, [AXIS, "mean, ms"], vec![there, beside::ours(HERE, here)])
    })
}

#[cfg(test)]
mod tests {
    use netfathom_model::plan::{MessagePlan, MessageTest, Place};
    use netfathom_model::record::{Holds, MessageResult};

    use super::super::fixture::{CellTimes, planned};
    use super::super::plans::SIZES;
    use super::*;

    /// Given by the times at the smallest and at all other sizes, ms.
    fn made(first: [f64; 2], others: [f64; 2]) -> MessageResult {
        let [two, ..] = ways();
        let plan =
            MessagePlan { layers: vec![two.layer], ..MessagePlan::paper(MessageTest::Pingpong, Place::Lab) };
        planned(plan, |cell| {
            let ms = if cell.bytes == 4 { first } else { others };
            Some(CellTimes::each(&ms.map(|ms| 1e3 * ms), 1.0))
        })
    }

    fn holds(first: [f64; 2], others: [f64; 2]) -> Holds {
        constant(&Ours { name: SIZES, result: &made(first, others) }).holds
    }

    #[test]
    fn a_time_is_constant_over_sizes_or_not() {
        assert_eq!(holds([87.0, 88.0], [87.0, 87.0]), Holds::Yes);
        assert_eq!(holds([43.0, 43.0], [87.0, 87.1]), Holds::No);
        assert_eq!(holds([43.0, 87.0], [87.0, 43.0]), Holds::CannotTell);
    }

    #[test]
    fn the_papers_number_is_a_line() {
        let made = made([87.0, 88.0], [87.0, 87.0]);
        let figure = figure(&Ours { name: SIZES, result: &made }).unwrap();
        assert!(figure.series[0].points.iter().all(|p| p.y == 79.5));
        assert_eq!(figure.series[1].points.len(), MessageTest::Pingpong.sizes_bytes().len());
    }
}
