//! The report on answers that come in while the load is sent.

use netfathom_model::plan::{ReproducePlan, Variant};
use netfathom_model::record::{
    BesideTable, Cell, Claim, Figure, FigurePoint, Holds, Measured, Origin, Phase, ReproducedRun,
    ReverseResult, ReverseTrial, VariantResult,
};
use netfathom_stats::{Estimate, between_trials};

use super::differences;
use super::plans::{RATES, TIMES};
use crate::Report;
use crate::beside::{bar, bars, beside_table, lines, mean, ours, own, plain};
use crate::claim::{above, percent, written};

mod times;

/// The variant that decides the claims: the cost of unread answers is
/// that of the operating system alone, and the least that they can cost.
const DECIDES: Variant = Variant::Ignored;
/// Recovered is what is back within a tenth of the rate before.
const RECOVERED: f64 = 0.9;
const COLUMNS: &str =
    "before, messages/s|rise, messages/s|peak, messages/s|after, messages/s|drop, %|recovery, %";
const THERE: &str = "outgoing paper, its account of figure 4; our text has no figures";

/// Tables, figures and claims of the experiment.
pub fn tell(plan: &ReproducePlan, runs: &[ReproducedRun]) -> Report {
    let differences = differences::of_reverse(plan);
    let Some(result) = part(runs, RATES) else { return Report { differences, ..Report::default() } };
    let times = part(runs, TIMES);
    let trials = decisive(result);
    Report {
        differences,
        tables: [Some(summary(result)), times.map(times::table), Some(by_trial(result))]
            .into_iter()
            .flatten()
            .collect(),
        figures: [
            times.map(times::figures).unwrap_or_default(),
            result.variants.iter().filter_map(over_time).collect(),
            vec![by_phase(result)],
        ]
        .concat(),
        claims: vec![drops(trials), recovers(trials), times::rises(times), readers_take_more(result)],
        ..Report::default()
    }
}

fn part<'a>(runs: &'a [ReproducedRun], name: &str) -> Option<&'a ReverseResult> {
    runs.iter().find(|run| run.name == name).and_then(|run| ReverseResult::of(&run.measurement))
}

/// The trials that claims are decided on.
fn decisive(result: &ReverseResult) -> &[ReverseTrial] {
    trials_of(result, DECIDES)
}

fn trials_of(result: &ReverseResult, variant: Variant) -> &[ReverseTrial] {
    let found = result.variants.iter().find(|of| of.variant == variant);
    found.map(|of| of.trials.as_slice()).unwrap_or_default()
}

fn summary(result: &ReverseResult) -> BesideTable {
    let row = |of: &VariantResult| {
        let summary = of.summary.as_ref()?;
        let percent = |value: f64, interval: Option<netfathom_model::record::Estimate>| Cell {
            half_width: interval.map(|e| 100.0 * e.half_width),
            ..plain(100.0 * value)
        };
        let mut cells: Vec<Option<Cell>> = summary.outgoing_per_s.iter().map(|&r| Some(plain(r))).collect();
        cells.push(Some(percent(summary.drop, summary.drop_interval)));
        cells.push(Some(percent(summary.recovery, summary.recovery_interval)));
        Some(own(format!("here, {}", of.variant.name()), cells))
    };
    beside_table(
        "Outgoing rate before, during and after the inbound load",
        COLUMNS,
        result.variants.iter().filter_map(row),
        "The paper has figure 4 and no table, and our text of it no figures, so all rows are of this machine. Drop: 1 - peak / before. Recovery: \
         after / before.",
    )
}

fn by_trial(result: &ReverseResult) -> BesideTable {
    let row = |variant: Variant, trial: &ReverseTrial| {
        let mut cells: Vec<Option<Cell>> =
            Phase::ALL.iter().map(|&phase| outgoing_per_s(trial, phase).map(plain)).collect();
        cells.push(of_before(trial, Phase::Peak).map(|p| plain(100.0 * (1.0 - p))));
        cells.push(of_before(trial, Phase::After).map(|p| plain(100.0 * p)));
        own(format!("{}, trial {}", variant.name(), trial.index + 1), cells)
    };
    let rows =
        result.variants.iter().flat_map(|of| of.trials.iter().map(move |trial| row(of.variant, trial)));
    beside_table("The same, trial by trial", COLUMNS, rows, "")
}

fn outgoing_per_s(trial: &ReverseTrial, phase: Phase) -> Option<f64> {
    trial.phases.iter().find(|times| times.phase == phase).map(|times| times.outgoing_per_s)
}

/// The outgoing rate of a phase, of that before; `None` where there was none.
fn of_before(trial: &ReverseTrial, phase: Phase) -> Option<f64> {
    let before = outgoing_per_s(trial, Phase::Before).filter(|&rate| rate > 0.0)?;
    Some(outgoing_per_s(trial, phase)? / before)
}

/// Rates over the trial, mean of the trials; `None` before the first.
fn over_time(of: &VariantResult) -> Option<Figure> {
    let first = of.trials.first()?;
    let outgoing = rates(first, of.trials.iter().map(|trial| trial.outgoing.as_slice()).collect());
    let inbound = rates(first, of.trials.iter().map(|trial| trial.inbound.as_slice()).collect());
    let title = format!("Rates over time, {}, mean of the trials", of.variant.name());
    let series = vec![ours("outgoing", outgoing), ours("inbound", inbound)];
    Some(lines(title, ["time, s", "messages/s"], series))
}

/// One point a window that lies wholly in the trial. Where a phase begins its name is beside
/// the point.
fn rates(first: &ReverseTrial, trials: Vec<&[u64]>) -> Vec<FigurePoint> {
    let window_ns = first.window_ns.max(1);
    let end_ns = first.phases.last().map_or(0, |times| times.end_ns);
    let point = |i: usize| {
        let start_ns = i as u64 * window_ns;
        let counts = trials.iter().map(|trial| trial.get(i).copied().unwrap_or(0) as f64);
        let mean = counts.sum::<f64>() / trials.len().max(1) as f64;
        let begins = first.phases.iter().find(|p| (start_ns..start_ns + window_ns).contains(&p.start_ns));
        FigurePoint {
            x: (start_ns as f64 + window_ns as f64 / 2.0) / 1e9,
            y: mean * 1e9 / window_ns as f64,
            half_width: None,
            label: begins.map(|p| p.phase.name().into()),
        }
    };
    (0..(end_ns / window_ns) as usize).map(point).collect()
}

fn by_phase(result: &ReverseResult) -> Figure {
    let series = |of: &VariantResult| {
        let bar = |&phase: &Phase| {
            let rates: Vec<f64> = of.trials.iter().filter_map(|t| outgoing_per_s(t, phase)).collect();
            Some(bar(f64::from(phase as u32), mean(&rates)?, phase.name()))
        };
        ours(of.variant.name(), Phase::ALL.iter().filter_map(bar).collect())
    };
    bars("Outgoing rate by phase", ["phase", "messages/s"], result.variants.iter().map(series).collect())
}

fn between(trials: &[ReverseTrial], value: impl Fn(&ReverseTrial) -> Option<f64>) -> Option<Estimate> {
    between_trials(&trials.iter().filter_map(value).collect::<Vec<f64>>())
}

/// The inbound load lowers the outgoing rate.
fn drops(trials: &[ReverseTrial]) -> Claim {
    let drop = between(trials, |trial| Some(1.0 - of_before(trial, Phase::Peak)?));
    Claim {
        origin: Origin::Source,
        says: "Incoming messages lower the rate of the outgoing ones".into(),
        there: THERE.into(),
        here: format!(
            "where no application reads what comes in, its peak takes {} % of the outgoing rate (95 % interval between \
             {} trials)",
            written(drop.map(percent), 1),
            trials.len()
        ),
        holds: above(drop, 0.0),
    }
}

/// The outgoing rate comes back when the inbound load ends.
fn recovers(trials: &[ReverseTrial]) -> Claim {
    let after = between(trials, |trial| of_before(trial, Phase::After));
    let regained =
        between(trials, |trial| Some(of_before(trial, Phase::After)? - of_before(trial, Phase::Peak)?));
    Claim {
        origin: Origin::Source,
        says: "The outgoing rate recovers when the incoming messages end".into(),
        there: THERE.into(),
        here: format!(
            "afterwards {} % of the rate before, {} points more than at the peak (95 % intervals between {} \
             trials); recovered: significantly above {:.0} %",
            written(after.map(percent), 1),
            written(regained.map(percent), 1),
            trials.len(),
            100.0 * RECOVERED
        ),
        holds: recovered(after, regained),
    }
}

/// Back within a tenth, and significantly more than at the peak. Without a loss there is
/// nothing to come back, and the claim is undecided.
fn recovered(after: Option<Estimate>, regained: Option<Estimate>) -> Holds {
    match (above(regained, 0.0), above(after, RECOVERED)) {
        (_, Holds::No) => Holds::No,
        (Holds::Yes, Holds::Yes) => Holds::Yes,
        _ => Holds::CannotTell,
    }
}

/// A program that reads the answers takes more of the rate than the answers themselves. A trial of each is in one round.
/// To analyze them takes more still, so that no significant difference, or less, decides nothing.
fn readers_take_more(result: &ReverseResult) -> Claim {
    let read = trials_of(result, Variant::OtherThread);
    let more = |unread: &ReverseTrial| {
        let read = read.iter().find(|trial| trial.index == unread.index)?;
        Some(of_before(unread, Phase::Peak)? - of_before(read, Phase::Peak)?)
    };
    let rounds: Vec<f64> = decisive(result).iter().filter_map(more).collect();
    let more = between_trials(&rounds);
    Claim {
        origin: Origin::Source,
        says: "Programs that analyze the answers lower the rate of the outgoing messages".into(),
        there: "outgoing paper, introduction and conclusion, without a number".into(),
        here: format!(
            "where a thread reads what comes in, and does no more with it, the peak takes {} points more of the outgoing rate \
             than where no application reads it (95 % interval between {} trials)",
            written(more.map(percent), 1),
            rounds.len()
        ),
        holds: match above(more, 0.0) {
            Holds::Yes => Holds::Yes,
            Holds::No | Holds::CannotTell => Holds::CannotTell,
        },
    }
}

#[cfg(test)]
mod tests;
