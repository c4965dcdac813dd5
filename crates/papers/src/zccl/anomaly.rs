//! Two writes a message, Nagle's algorithm, and acknowledgements that are put off.

use std::ops::Range;

use netfathom_model::plan::Placement;
use netfathom_model::record::{
    BesideRow, BesideTable, Cell, Claim, Figure, FigureKind, FigurePoint, FigureSeries, Holds, MessageTrial,
};
use netfathom_stats::Estimate;

use super::originals::source;
use super::ours::{Ours, Value, mean_us, median_us};
use super::plans::{ANOMALY_BYTES, There, Way, ways};
use super::rounds::Rounds;
use crate::claim::written;

/// As long as a round trip takes, in ms, of which one acknowledgement is put off for the 40 ms of
/// Linux (TCP_DELACK_MIN), with what its timer's ticks add.
const ONE_MS: Range<f64> = 35.0..60.0;
const TWO_MS: Range<f64> = 70.0..120.0;
/// Gone is a stall where round trips take surely a smaller part of the time in the mean, so
/// that one of some hundred may still have waited.
const TIMES_LESS: f64 = 10.0;

impl Way {
    fn rounds(&self, ours: &Ours<'_>, value: Value) -> Rounds {
        // It is measured on one pair: its times are those of timers.
        let pair = ours.pairs().last().copied();
        Rounds::of(pair.and_then(|pair| ours.cell(Placement::UU, pair, ANOMALY_BYTES, &self.layer)), value)
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

/// Each way of sending beside what the paper says of it.
pub fn table(ours: Option<&Ours<'_>>) -> BesideTable {
    let rows = ways().into_iter().flat_map(|way| {
        let there = source(way.words, vec![Some(said(way.there)), None, None]);
        let here = ours.map(|o| {
            [way.median_ms(o), way.mean_ms(o), way.rounds(o, delayed)].map(|rounds| rounds.cell()).to_vec()
        });
        let here = here.filter(|cells| cells.iter().any(Option::is_some));
        let here = here.map(|cells| BesideRow { who: format!("here, {}", way.words), here: true, cells });
        [there].into_iter().chain(here).collect::<Vec<_>>()
    });
    BesideTable {
        title: "Round trips of a header and a body".into(),
        columns: ["median, ms", "mean, ms", "delayed ACKs, a round trip"].map(Into::into).into(),
        rows: rows.collect(),
        note: Some(format!(
            "Two writes a message unless it says otherwise. The paper has no table of it: its rows are what it says. \
             Ours: a body of {ANOMALY_BYTES} B; delayed ACKs are acknowledgements that were put off \
             until their timer ran out, as the kernel counted them at both ends."
        )),
    }
}

/// As the paper has it, in ms.
fn said(there: There) -> Cell {
    let (value, printed) = match there {
        There::FortyOrEighty => (80.0, "about 40 or 80"),
        There::Forty => (40.0, "about 40"),
        There::Gone => (0.0, "gone"),
    };
    Cell { value, half_width: None, printed: Some(printed.into()) }
}

/// A bar a way.
pub fn figure(ours: Option<&Ours<'_>>) -> Option<Figure> {
    let ours = ours?;
    let bar = |(x, way): (usize, &Way)| {
        let cell = way.mean_ms(ours).cell()?;
        Some(FigurePoint {
            x: x as f64,
            y: cell.value,
            half_width: cell.half_width,
            label: Some(way.words.into()),
        })
    };
    let points: Vec<FigurePoint> = ways().iter().enumerate().filter_map(bar).collect();
    (!points.is_empty()).then(|| Figure {
        title: "Round trips of a header and a body".into(),
        x: "how they are sent".into(),
        y: "mean, ms".into(),
        kind: FigureKind::Bars,
        series: vec![FigureSeries { name: "here".into(), here: true, points }],
    })
}

/// A claim a way.
pub fn claims(ours: Option<&Ours<'_>>) -> Vec<Claim> {
    let Some(ours) = ours else { return Vec::new() };
    let ways = ways();
    let stalled = stalls(ours, &ways[0]);
    let of = |way: &Way| match way.there {
        There::Gone => gone(ours, &ways[0], stalled, way),
        _ => stall(ours, way),
    };
    ways.iter().map(of).collect()
}

/// Where a median lies.
fn bands(there: There) -> &'static [Range<f64>] {
    match there {
        There::FortyOrEighty => &[ONE_MS, TWO_MS],
        There::Forty => &[ONE_MS],
        There::Gone => &[],
    }
}

fn stalls(ours: &Ours<'_>, way: &Way) -> Holds {
    within(way.median_ms(ours).estimate(), bands(way.there))
}

/// Wholly in one of the ranges, or wholly outside all.
fn within(estimate: Option<Estimate>, bands: &[Range<f64>]) -> Holds {
    let Some(e) = estimate else { return Holds::CannotTell };
    let (low, high) = (e.value - e.half_width, e.value + e.half_width);
    if bands.iter().any(|band| band.start <= low && high < band.end) {
        Holds::Yes
    } else if bands.iter().all(|band| high < band.start || band.end <= low) {
        Holds::No
    } else {
        Holds::CannotTell
    }
}

fn stall(ours: &Ours<'_>, way: &Way) -> Claim {
    let (says, there) = match way.there {
        There::FortyOrEighty => (
            "Two writes a message with Nagle's algorithm at both ends: round trips of about 40 or 80 ms"
                .into(),
            "the anomaly of chapter 7",
        ),
        _ => (
            format!("With {} only, round trips of about 40 ms", way.words),
            "40 ms with one-sided TCP_NODELAY",
        ),
    };
    let ranges: Vec<String> =
        bands(way.there).iter().map(|band| format!("{:.0} to {:.0} ms", band.start, band.end)).collect();
    Claim {
        says,
        there: there.into(),
        here: format!(
            "median {} ms, {} acknowledgements put off a round trip; about that is an interval within {} (95 % intervals \
             between rounds of trials)",
            written(way.median_ms(ours).estimate(), 2),
            written(way.rounds(ours, delayed).estimate(), 2),
            ranges.join(" or ")
        ),
        holds: stalls(ours, way),
    }
}

fn gone(ours: &Ours<'_>, two: &Way, stalled: Holds, way: &Way) -> Claim {
    let (of_two, mean) = (two.mean_ms(ours), way.mean_ms(ours));
    let times = of_two.over(&mean).ratio();
    let without = if stalled == Holds::Yes { "" } else { "; but there was no such stall to be gone" };
    Claim {
        says: format!("The stall is gone with {}", way.words),
        there: "it names it among what helps".into(),
        here: format!(
            "mean {} ms, with two writes and nothing else {} ms: {} times as long, and gone is surely more than \
             {TIMES_LESS:.0}; {} acknowledgements put off a round trip (95 % intervals between rounds of trials){without}",
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

    use super::super::made_up::{Told, planned};
    use super::super::plans::ANOMALY;
    use super::*;

    /// Each way is given by its times in ms.
    fn made(ms: impl Fn(There) -> Vec<f64>) -> MessageResult {
        let plan = MessagePlan {
            layers: ways().map(|way| way.layer).into(),
            sizes_bytes: vec![ANOMALY_BYTES],
            ..MessagePlan::paper(MessageTest::Pingpong, Place::Lab)
        };
        planned(plan, |cell| {
            let way = ways().into_iter().find(|way| way.layer == cell.layer)?;
            let us: Vec<f64> = ms(way.there).iter().map(|ms| 1e3 * ms).collect();
            Some(Told::each(&us, 1.0))
        })
    }

    fn of(result: &MessageResult) -> Ours<'_> {
        Ours { name: ANOMALY, result }
    }

    fn holds(ms: impl Fn(There) -> Vec<f64>) -> Vec<Holds> {
        claims(Some(&of(&made(ms)))).iter().map(|claim| claim.holds).collect()
    }

    #[test]
    fn the_anomaly_is_there_or_not_or_nobody_can_tell() {
        let as_there = |there| match there {
            There::FortyOrEighty => vec![86.0, 88.0, 87.0],
            There::Forty => vec![43.0, 43.2, 42.9],
            There::Gone => vec![0.05, 0.06, 0.05],
        };
        assert_eq!(holds(as_there), [Holds::Yes; 9]);
        let one_is_enough =
            |there| if there == There::FortyOrEighty { vec![43.0, 43.1] } else { as_there(there) };
        assert_eq!(holds(one_is_enough)[0], Holds::Yes);
        let nowhere = holds(|_| vec![0.05, 0.06, 0.05]);
        assert_eq!(nowhere[..3], [Holds::No; 3]);
        assert_eq!(nowhere[3..], [Holds::CannotTell; 6], "what was not there cannot be gone");
        let everywhere = holds(|_| vec![86.0, 88.0, 87.0]);
        assert_eq!(everywhere[0], Holds::Yes);
        assert_eq!(everywhere[1..], [Holds::No; 8]);
        assert_eq!(holds(|_| vec![43.0, 86.0, 0.1]), [Holds::CannotTell; 9]);
        assert_eq!(holds(|_| vec![86.0]), [Holds::CannotTell; 9], "one trial");
    }

    #[test]
    fn every_way_has_the_papers_word_and_ours() {
        let made = made(|_| vec![86.0, 86.0]);
        let table = table(Some(&of(&made)));
        assert_eq!(table.rows.len(), 2 * ways().len());
        assert!(table.rows.iter().all(|row| row.cells.len() == table.columns.len()));
        let here = &table.rows[1];
        assert_eq!((here.who.as_str(), here.here), ("here, two writes", true));
        assert_eq!(here.cells[0].as_ref().unwrap().value, 86.0);
        assert_eq!(here.cells[2], None, "nothing counted acknowledgements");
        assert_eq!(figure(Some(&of(&made))).unwrap().series[0].points.len(), ways().len());
        assert!(figure(None).is_none() && claims(None).is_empty());
    }
}
