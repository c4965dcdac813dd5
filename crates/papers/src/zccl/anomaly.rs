//! Two writes a message, Nagle's algorithm, and delayed ACKs.

use std::ops::Range;

use netfathom_model::plan::Placement;
use netfathom_model::record::{
    BesideRow, BesideTable, Cell, Claim, Figure, FigurePoint, Holds, MessageTrial, Origin,
};

use super::originals::source;
use super::ours::{Ours, Value, mean_us, median_us, rounds};
use super::plans::{ANOMALY_BYTES, Expected, WriteStyle, ways};
use crate::beside::{self, HERE, bar, beside_table, own, plain};
use crate::claim::{within, written};
use crate::rounds::Rounds;

/// What a round trip took the paper on one machine, in µs: of the order of that (7.7.5, figure 7.4).
pub const THERE_US: f64 = 79_500.0;
/// As long as a round trip takes, in ms, with one acknowledgment delayed for the 40 ms of Linux (TCP_DELACK_MIN), with what its timer's ticks add.
const ONE_MS: Range<f64> = 35.0..60.0;
const TWO_MS: Range<f64> = 70.0..120.0;
/// A round trip of 64 bytes through the paper's library, in ms (table 7.4).
const LIBRARY_THERE_MS: f64 = 0.966;
/// About a hundred times: half of that to twice that.
const HUNDRED: Range<f64> = 50.0..200.0;
/// Gone is a stall where round trips take a significantly smaller part of the time in the mean, so
/// that one of some hundred may still have waited.
const TIMES_LESS: f64 = 10.0;

impl WriteStyle {
    fn rounds(&self, ours: &Ours<'_>, value: Value) -> Rounds {
        // It is measured on one pair: its times are those of timers.
        let pair = ours.pairs().last().copied();
        rounds(pair.and_then(|pair| ours.cell(Placement::UU, pair, ANOMALY_BYTES, &self.layer)), value)
    }

    fn median_ms(&self, ours: &Ours<'_>) -> Rounds {
        self.rounds(ours, median_us).times(1e-3)
    }

    fn mean_ms(&self, ours: &Ours<'_>) -> Rounds {
        self.rounds(ours, mean_us).times(1e-3)
    }
}

fn delayed(trial: &MessageTrial) -> Option<f64> {
    (trial.messages > 0).then_some(trial.tcp?.delayed_acks as f64 / trial.messages as f64)
}

/// Each way of sending beside what the paper has of it.
pub fn table(ours: Option<&Ours<'_>>) -> BesideTable {
    let rows = ways().into_iter().flat_map(|way| {
        let there = theirs(&way);
        let here = ours.map(|o| {
            [way.median_ms(o), way.mean_ms(o), way.rounds(o, delayed)].map(|rounds| rounds.cell()).to_vec()
        });
        let here = here.filter(|cells| cells.iter().any(Option::is_some));
        let here = here.map(|cells| own(format!("here, {}", way.words), cells));
        there.into_iter().chain(here).collect::<Vec<_>>()
    });
    beside_table(
        "Round trips of a header and a body",
        "median, ms|mean, ms|delayed ACKs, a round trip",
        rows,
        format!(
            "Two writes a message unless it says otherwise. The paper has figure 7.4 and no table: its rows are its text \
             (7.7.5), 100 messages in about 7.95 s on one machine, and the library's 64 B of table 7.4, over 10 Mbit/s. With \
             sendmsg() it had the stall too, and prints no figure. It proposes no-delay or TCP_CORK without a trial; the other ways are \
             ours. Here: a body of {ANOMALY_BYTES} B; delayed ACKs are those sent when a timer ran out, as the kernel counted \
             them at both ends."
        ),
    )
}

/// The paper's own, in ms.
fn theirs(way: &WriteStyle) -> Option<BesideRow> {
    let stalled_ms = THERE_US / 1e3;
    let (value, printed) = match way.expected {
        Expected::Stalled => (stalled_ms, Some(format!("~{stalled_ms}"))),
        Expected::Library => (LIBRARY_THERE_MS, None),
        _ => return None,
    };
    let mean = Cell { printed, ..plain(value) };
    Some(source(way.words, vec![None, Some(mean), None]))
}

pub fn figure(ours: Option<&Ours<'_>>) -> Option<Figure> {
    let ours = ours?;
    let bar = |(x, way): (usize, &WriteStyle)| Some(bar(x as f64, way.mean_ms(ours).cell()?, way.words));
    let points: Vec<FigurePoint> = ways().iter().enumerate().filter_map(bar).collect();
    (!points.is_empty()).then(|| {
        let axes = ["how they are sent", "mean, ms"];
        beside::bars("Round trips of a header and a body", axes, vec![beside::ours(HERE, points)])
    })
}

pub fn claims(ours: Option<&Ours<'_>>) -> Vec<Claim> {
    let Some(ours) = ours else { return Vec::new() };
    let ways = ways();
    let stalled = stalls(ours, &ways[0]);
    let of = |way: &WriteStyle| match way.expected {
        Expected::Stalled | Expected::Half => stall(ours, way),
        Expected::Same => same(ours, &ways[0], stalled, way),
        Expected::Proposed | Expected::Gone => gone(ours, &ways[0], stalled, way),
        Expected::Library => hundred(ours, &ways[0], way),
    };
    ways.iter().map(of).collect()
}

/// Whether a median lies where one or two delayed ACKs put it: either is a stall that can be gone.
fn stalls(ours: &Ours<'_>, way: &WriteStyle) -> Holds {
    within(way.median_ms(ours).estimate(), ONE_MS.start, TWO_MS.end)
}

fn stall(ours: &Ours<'_>, way: &WriteStyle) -> Claim {
    let (source, says, there, band) = match way.expected {
        Expected::Stalled => (
            Origin::Source,
            "Header and body in two writes: round trips of about 80 ms".into(),
            "7.7.5 and figure 7.4, on one machine: 100 messages in about 7.95 s, of the order of 79,500 µs each; almost \
             0.04 s in each of two system calls",
            TWO_MS,
        ),
        _ => (
            Origin::Ours,
            format!("With {} only, round trips of about 40 ms", way.words),
            "not in the paper: one of two delayed ACKs is left",
            ONE_MS,
        ),
    };
    let median = way.median_ms(ours).estimate();
    Claim {
        origin: source,
        says,
        there: there.into(),
        here: format!(
            "median {} ms, {} acknowledgments delayed a round trip; about that is an interval within {:.0} to {:.0} ms \
             (95 % intervals between rounds of trials)",
            written(median, 2),
            written(way.rounds(ours, delayed).estimate(), 2),
            band.start,
            band.end
        ),
        holds: within(median, band.start, band.end),
    }
}

fn same(ours: &Ours<'_>, two: &WriteStyle, stalled: Holds, way: &WriteStyle) -> Claim {
    let times = way.mean_ms(ours).over(&two.mean_ms(ours)).estimate();
    Claim {
        origin: Origin::Source,
        says: format!("The stall occurs with {} too", way.words),
        there: "7.7.5: other calls, such as sendmsg() for send(), do not change that it occurs".into(),
        here: format!(
            "median {} ms, the mean {} times as long as by two writes; a stall is an interval within {:.0} to {:.0} ms (95 % \
             intervals between rounds of trials){}",
            written(way.median_ms(ours).estimate(), 2),
            written(times, 2),
            ONE_MS.start,
            TWO_MS.end,
            no_stall(stalled, "repeated")
        ),
        holds: if stalled == Holds::Yes { stalls(ours, way) } else { Holds::CannotTell },
    }
}

fn hundred(ours: &Ours<'_>, two: &WriteStyle, way: &WriteStyle) -> Claim {
    let times = two.mean_ms(ours).over(&way.mean_ms(ours)).ratio();
    Claim {
        origin: Origin::Source,
        says: "Header and body in two writes take about a hundred times as long as the library".into(),
        there: "7.7.5: about a hundred times, without a size; by table 7.4 the library took 966 µs at 64 B, over 10 Mbit/s"
            .into(),
        here: format!(
            "the library {} ms, on one machine: {} times as long; about a hundred: significantly within {:.0} to {:.0} (95 % \
             intervals between rounds of trials)",
            written(way.mean_ms(ours).estimate(), 3),
            times.written(1.0, 0),
            HUNDRED.start,
            HUNDRED.end
        ),
        holds: times.within(HUNDRED.start, HUNDRED.end),
    }
}

/// That there is a stall over a network; how long it was there the paper does not say.
pub fn over_network(ours: &Ours<'_>) -> Claim {
    let [two, ..] = ways();
    Claim {
        origin: Origin::Source,
        says: "The stall of two writes occurs over a network too".into(),
        there: "7.7.5: it occurred over the network as on one machine; the figure is of one machine".into(),
        here: format!(
            "over 10 Mbit/s a median of {} ms; a stall is an interval within {:.0} to {:.0} ms (95 % interval between \
             rounds of trials)",
            written(two.median_ms(ours).estimate(), 2),
            ONE_MS.start,
            TWO_MS.end
        ),
        holds: stalls(ours, &two),
    }
}

fn no_stall(stalled: Holds, what: &str) -> String {
    match stalled {
        Holds::Yes => String::new(),
        _ => format!("; but there was no such stall to be {what}"),
    }
}

fn gone(ours: &Ours<'_>, two: &WriteStyle, stalled: Holds, way: &WriteStyle) -> Claim {
    let (of_two, mean) = (two.mean_ms(ours), way.mean_ms(ours));
    let times = of_two.over(&mean).ratio();
    let without = no_stall(stalled, "gone");
    let (source, there) = match way.expected {
        Expected::Proposed => (Origin::Source, "7.7.5 proposes it, without a trial"),
        _ => (Origin::Ours, "not in the paper"),
    };
    Claim {
        origin: source,
        says: format!("The stall is gone with {}", way.words),
        there: there.into(),
        here: format!(
            "mean {} ms, with two writes and nothing else {} ms: {} times as long; gone: significantly more than \
             {TIMES_LESS:.0}; {} acknowledgments delayed a round trip (95 % intervals between rounds of trials){without}",
            written(mean.estimate(), 3),
            written(of_two.estimate(), 2),
            times.written(1.0, 0),
            written(way.rounds(ours, delayed).estimate(), 2),
        ),
        holds: if stalled == Holds::Yes { times.above(TIMES_LESS) } else { Holds::CannotTell },
    }
}

#[cfg(test)]
mod tests {
    use netfathom_model::plan::{MessagePlan, MessageTest, Place};
    use netfathom_model::record::MessageResult;

    use super::super::fixture::{CellTimes, planned};
    use super::super::plans::ANOMALY;
    use super::*;

    /// Each way is given by its times in ms.
    fn made(ms: impl Fn(Expected) -> Vec<f64>) -> MessageResult {
        let plan = MessagePlan {
            layers: ways().map(|way| way.layer).into(),
            sizes_bytes: vec![ANOMALY_BYTES],
            ..MessagePlan::paper(MessageTest::Pingpong, Place::Lab)
        };
        planned(plan, |cell| {
            let way = ways().into_iter().find(|way| way.layer == cell.layer)?;
            let us: Vec<f64> = ms(way.expected).iter().map(|ms| 1e3 * ms).collect();
            Some(CellTimes::each(&us, 1.0))
        })
    }

    fn of(result: &MessageResult) -> Ours<'_> {
        Ours { name: ANOMALY, result }
    }

    fn holds(ms: impl Fn(Expected) -> Vec<f64>) -> Vec<Holds> {
        claims(Some(&of(&made(ms)))).iter().map(|claim| claim.holds).collect()
    }

    #[test]
    fn the_anomaly_is_present_absent_or_undecided() {
        let as_there = |there| match there {
            Expected::Stalled | Expected::Same => vec![86.0, 88.0, 87.0],
            Expected::Half => vec![43.0, 43.2, 42.9],
            Expected::Proposed | Expected::Gone => vec![0.05, 0.06, 0.05],
            Expected::Library => vec![0.86, 0.88, 0.87],
        };
        assert_eq!(holds(as_there), [Holds::Yes; 11]);
        let half = |expected| match expected {
            Expected::Stalled => vec![43.0, 43.1],
            Expected::Same => vec![86.0, 87.0],
            _ => as_there(expected),
        };
        assert_eq!(
            holds(half)[..2],
            [Holds::No, Holds::Yes],
            "half of what the paper has, but a stall with sendmsg too"
        );
        assert_eq!(holds(half)[4..10], [Holds::Yes; 6], "but it can be gone");
        let not_by_sendmsg = |expected| match expected {
            Expected::Same => vec![0.05, 0.06],
            _ => as_there(expected),
        };
        assert_eq!(holds(not_by_sendmsg)[..2], [Holds::Yes, Holds::No]);
        let fast_library = |expected| match expected {
            Expected::Library => vec![0.05, 0.06, 0.05],
            _ => as_there(expected),
        };
        assert_eq!(holds(fast_library)[10], Holds::No, "more than a thousand times are not about a hundred");
        let nowhere = holds(|_| vec![0.05, 0.06, 0.05]);
        assert_eq!(nowhere[..4], [Holds::No, Holds::CannotTell, Holds::No, Holds::No]);
        assert_eq!(nowhere[4..10], [Holds::CannotTell; 6], "what was not there cannot be gone");
        assert_eq!(nowhere[10], Holds::No, "as fast as the library");
        let everywhere = holds(|_| vec![86.0, 88.0, 87.0]);
        assert_eq!(everywhere[..2], [Holds::Yes; 2]);
        assert_eq!(everywhere[2..], [Holds::No; 9]);
        assert_eq!(holds(|_| vec![43.0, 86.0, 0.1])[..10], [Holds::CannotTell; 10]);
        assert_eq!(holds(|_| vec![86.0]), [Holds::CannotTell; 11], "one trial");
    }

    #[test]
    fn the_paper_claims_what_it_printed_and_proposed() {
        let made = made(|_| vec![86.0, 86.0]);
        let sources: Vec<bool> =
            claims(Some(&of(&made))).iter().map(|claim| claim.origin == Origin::Source).collect();
        assert_eq!(sources, [true, true, false, false, true, true, false, false, false, false, true]);
    }

    #[test]
    fn over_a_network_a_stall_is_all_that_is_asked() {
        let holds = |ms: &[f64]| over_network(&of(&made(|_| ms.to_vec()))).holds;
        assert_eq!(
            [holds(&[43.0, 43.1]), holds(&[87.0, 88.0])],
            [Holds::Yes; 2],
            "the paper has no figure of it"
        );
        assert_eq!([holds(&[0.5, 0.6]), holds(&[0.5, 87.0])], [Holds::No, Holds::CannotTell]);
    }

    #[test]
    fn the_papers_rows_are_what_it_has_of_two_writes() {
        let made = made(|_| vec![86.0, 86.0]);
        let table = table(Some(&of(&made)));
        assert_eq!(table.rows.len(), 2 + ways().len());
        let mean = table.rows[0].cells[1].as_ref().unwrap();
        assert_eq!((mean.value, mean.printed.as_deref()), (79.5, Some("~79.5")));
        let here = &table.rows[1];
        assert_eq!((here.who.as_str(), here.here), ("here, two writes", true));
        assert_eq!(here.cells[0].as_ref().unwrap().value, 86.0);
        assert_eq!(here.cells[2], None, "nothing counted acknowledgments");
        assert_eq!(figure(Some(&of(&made))).unwrap().series[0].points.len(), ways().len());
        assert!(figure(None).is_none() && claims(None).is_empty());
    }
}
