//! Two runs, or pairs of runs, beside each other: what differs between them besides what is measured, and of each
//! quantity whether it is better, worse, or inconclusive.

mod beside;
mod differences;
mod distributions;
mod gate;
mod judge;
mod known_settings;
mod plans;
mod settings;
mod threshold;
mod trust;

use std::collections::{BTreeMap, BTreeSet};

use netfathom_model::record::{Record, State};
use netfathom_model::verdict::Level;
use serde::Serialize;

use crate::quantity::{Better, Pooled, Unit};

pub use differences::{Difference, InPairs};
pub use gate::{Gate, GateChange, GateInterval, Gates, LEAST_PAIRS, MOST_PAIRS, Passage};
pub(crate) use judge::LEVEL;
pub use settings::NotCompared;
pub use threshold::{Threshold, ThresholdError, gates};

/// A run with the name that it was asked for by.
#[derive(Clone, Debug)]
pub struct Run {
    /// As it was given: a path, or the name of a run.
    pub name: String,
    pub record: Record,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// One after the other: their trials are compared as two groups.
    Apart,
    /// Interleaved: each pair is compared within itself, a value a run.
    Pairs,
}

/// One run as a comparison shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Head {
    /// As it was given.
    pub name: String,
    pub id: String,
    pub verdict: Level,
    pub state: State,
    pub started_utc: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub design: Design,
    /// What was measured, by A's record.
    pub measurement: &'static str,
    /// What is compared with; one run unless there are pairs.
    pub a: Vec<Head>,
    /// What is compared; a run of each pair.
    pub b: Vec<Head>,
    /// What differs between the two, besides what was measured; of pairs in any of them. What is known to matter
    /// stands first.
    pub differences: Vec<Difference>,
    /// What could not be compared, for a record does not have it.
    pub not_compared: Vec<NotCompared>,
    pub settings_compared: usize,
    /// Why they cannot be compared. Unless that was forced, there are no quantities then.
    pub obstacles: Vec<String>,
    /// Whether one of them measured something else: then nothing can be compared.
    pub kinds_differ: bool,
    /// Whether they were compared in spite of the obstacles.
    pub forced: bool,
    /// What must be known to read the result.
    pub cautions: Vec<String>,
    /// Whether B dropped packets, and A none or far fewer; the cautions have them. Who is not served has no time, so
    /// shorter times do not make B better then.
    pub b_dropped: bool,
    /// Each quantity that both have, of pairs two of them, the main ones first.
    pub quantities: Vec<Compared>,
    /// Quantities that some runs do not vouch for.
    pub withheld: BTreeMap<String, Withheld>,
    /// Quantities that only A has; of pairs also those that fewer than two pairs have.
    pub only_a: Vec<String>,
    /// Quantities that only B has; the same of pairs.
    pub only_b: Vec<String>,
    /// Of runs that cannot be compared: the quantities that any of them can have, and which are main ones.
    #[serde(skip)]
    pub known: BTreeMap<String, bool>,
    /// Times of both, where the records have them.
    #[serde(skip)]
    pub spreads: Vec<(Pooled, Pooled)>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// As in [`crate::quantity::Quantity`].
    pub name: String,
    /// What it is, in words.
    pub title: String,
    pub unit: Unit,
    pub better: Better,
    /// Whether it is one of the few that the measurement is made for.
    pub main: bool,
    /// The worst level that it has in the pairs that count.
    pub level: Level,
    /// The values of A: a trial each, or a run each of pairs.
    pub a: Vec<f64>,
    pub b: Vec<f64>,
    /// Of pairs the round of each value, from 1; a round that is VOID in the quantity, or lacks it, is not among
    /// them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Vec<usize>>,
    /// The mean of A; the geometric one where the change is a ratio.
    pub a_mean: f64,
    pub b_mean: f64,
    pub change: Change,
    /// How likely so great a change is by chance, corrected for all that are decided together; `None` where that
    /// cannot be known.
    pub chance: Option<f64>,
    /// The minimum detectable effect at 80 % power: of ratios a part (0.05 is 5 %), otherwise in
    /// the unit.
    pub smallest: Option<f64>,
    pub outcome: Outcome,
    /// Why it is inconclusive, or why there is no ratio.
    pub note: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change {
    /// What `value` is.
    pub scale: Scale,
    /// The ratio, 1.05 for 5 % more, or the difference in the quantity's unit.
    pub value: f64,
    /// The interval that the outcome goes by: without no change in it the change is significant. `None` where there is
    /// none.
    pub decided: Option<(f64, f64)>,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// B as a multiple of A.
    Ratio,
    /// B minus A: where values are zero or negative there is no ratio.
    Difference,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// B is better, beyond chance.
    Better,
    /// B is worse, beyond chance.
    Worse,
    /// Neither is beyond chance.
    CannotTell,
    /// Every value of both is the same number.
    Same,
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::CannotTell => "not significant",
            Self::Same => "no change",
        }
    }
}

impl Compared {
    /// Whether there is an interval to go by; values that are all the same number need none.
    pub fn is_tested(&self) -> bool {
        self.outcome != Outcome::CannotTell || self.chance.is_some()
    }

    /// What came of it, in words.
    pub fn conclusion(&self) -> &'static str {
        if self.is_tested() { self.outcome.name() } else { "not tested" }
    }
}

/// Why there is nothing to compare at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    #[error(
        "{first} and {second} are the same run, {id}: name two runs, such as one from before and one from after a change"
    )]
    SameRun { first: String, second: String, id: String },
    #[error("there is no whole pair of runs to compare")]
    NoPairs,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Wishes {
    pub force: bool,
}

/// Compares B with A, taken one after the other.
///
/// # Errors
/// If both are the same run.
pub fn apart(a: &Run, b: &Run, wishes: &Wishes) -> Result<Comparison, CompareError> {
    compare(Design::Apart, &[(a, b)], wishes)
}

/// Why a quantity is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Withheld {
    /// How many runs are VOID as far as it is concerned.
    pub void: usize,
    /// Whether a run has it as a main quantity.
    pub main: bool,
}

/// Compares the second of each pair with the first.
///
/// # Errors
/// If there is no pair, or one of a run with itself.
pub fn pairs(pairs: &[(Run, Run)], wishes: &Wishes) -> Result<Comparison, CompareError> {
    let pairs: Vec<(&Run, &Run)> = pairs.iter().map(|(a, b)| (a, b)).collect();
    compare(Design::Pairs, &pairs, wishes)
}

/// Whether thresholds can be tested, by the first pair of several; or by its A alone, before there is a B.
///
/// # Errors
/// If a threshold is wrong whatever later pairs measure.
pub fn testable(a: &Run, b: Option<&Run>, thresholds: &[Threshold]) -> Result<(), ThresholdError> {
    // Such a run may lack quantities.
    if [Some(a), b].into_iter().flatten().any(|run| run.record.verdict.level == Level::Void) {
        return Ok(());
    }
    match compare_unchecked(Design::Pairs, &[(a, b.unwrap_or(a))], &Wishes { force: true }) {
        Ok(compared) if !compared.quantities.is_empty() => match gates(&compared, thresholds) {
            // A later one may have it.
            Err(ThresholdError::OneSided { .. }) | Ok(_) => Ok(()),
            Err(ThresholdError::Unknown { name, .. }) if may_come(&compared, a, &name) => Ok(()),
            Err(wrong) => Err(wrong),
        },
        _ => Ok(()),
    }
}

/// In names of quantities that a run has only where enough of its messages were left alone.
const UNDISTURBED: &str = ".undisturbed.";

/// Whether later runs may have a quantity that is not compared yet, as this one has no value of it: such as that of
/// undisturbed messages.
fn may_come(compared: &Comparison, run: &Run, name: &str) -> bool {
    let end = format!(".{name}");
    let is = |of: &str| format!(".{of}").ends_with(&end);
    // A direction or an engine without any quantity is not in the plan.
    let part = |of: &str| of.split('.').next().map(str::to_owned);
    let is_measured = |of: &str| compared.quantities.iter().any(|other| part(&other.name) == part(of));
    !compared.quantities.iter().any(|of| is(&of.name))
        && known(&[(run, run)]).keys().any(|of| is(of) && is_measured(of))
}

fn compare(design: Design, pairs: &[(&Run, &Run)], wishes: &Wishes) -> Result<Comparison, CompareError> {
    distinct(pairs)?;
    compare_unchecked(design, pairs, wishes)
}

fn compare_unchecked(
    design: Design,
    pairs: &[(&Run, &Run)],
    wishes: &Wishes,
) -> Result<Comparison, CompareError> {
    let &(a, _) = pairs.first().ok_or(CompareError::NoPairs)?;
    let trusted = trust::trusted(design, pairs, wishes.force);
    let measured = |run: &Run| run.record.measurement.name();
    let kinds_differ = pairs.iter().any(|(x, y)| measured(x) != measured(a) || measured(y) != measured(a));
    let plan = plans::differences(design, pairs);
    // Where none can be compared, what differs may be why.
    let compared = if trusted.pairs.is_empty() { pairs } else { &trusted.pairs };
    let settings: Vec<settings::SettingsCompared> = compared
        .iter()
        .map(|(a, b)| settings::compared(&a.record.environment, &b.record.environment))
        .collect();
    let around = compared.iter().zip(&settings).map(|((a, b), settings)| {
        let mut all = differences::of_records(&a.record, &b.record);
        all.extend(settings.differences.iter().cloned());
        all
    });
    let mut differences = differences::merged(around);
    differences.extend(plan.differences);
    let differences = differences::explained(differences, &a.record.measurement);
    let not_compared: BTreeSet<NotCompared> =
        settings.iter().flat_map(|found| found.not_compared.iter().cloned()).collect();
    // Runs of different things are no matter of trust.
    let obstacles: Vec<String> = plan.obstacles.into_iter().chain(trusted.obstacles).collect();
    let mut comparison = Comparison {
        design,
        measurement: a.record.measurement.name(),
        a: pairs.iter().map(|pair| head(pair.0)).collect(),
        b: pairs.iter().map(|pair| head(pair.1)).collect(),
        differences,
        not_compared: not_compared.into_iter().collect(),
        settings_compared: settings.iter().map(|found| found.compared).min().unwrap_or_default(),
        kinds_differ,
        forced: wishes.force && !kinds_differ && !obstacles.is_empty(),
        obstacles,
        cautions: trusted.cautions,
        b_dropped: false,
        quantities: Vec::new(),
        withheld: BTreeMap::new(),
        only_a: Vec::new(),
        only_b: Vec::new(),
        known: BTreeMap::new(),
        spreads: Vec::new(),
    };
    if comparison.is_refused() {
        comparison.known = known(pairs);
    } else {
        judge::fill(&mut comparison, &trusted.pairs, &trusted.rounds);
        beside::caution(&mut comparison, &trusted.pairs);
        // A run that is VOID in part has distributions of that part, too.
        let is_whole = |run: &Run| comparison.forced || run.record.verdict.level < Level::Void;
        let whole = trusted.pairs.iter().copied().filter(|(a, b)| is_whole(a) && is_whole(b));
        comparison.spreads = distributions::both(&whole.collect::<Vec<_>>());
    }
    Ok(comparison)
}

/// The names of all quantities, also of those without a value, and whether a run has each as a main one.
fn known(pairs: &[(&Run, &Run)]) -> BTreeMap<String, bool> {
    let runs = pairs.iter().flat_map(|&(a, b)| [a, b]);
    let mut known: BTreeMap<String, bool> = BTreeMap::new();
    for quantity in runs.flat_map(|run| crate::quantity::figures(&run.record.measurement).quantities()) {
        *known.entry(quantity.name).or_default() |= quantity.main;
    }
    known
}

/// Whether a setting differs, or what else a command sets of a device, such as its qdisc.
pub fn settings_differ(a: &Record, b: &Record) -> bool {
    !settings::compared(&a.environment, &b.environment).differences.is_empty()
        || a.environment.devices != b.environment.devices
}

fn head(run: &Run) -> Head {
    Head {
        name: run.name.clone(),
        id: run.record.id.clone(),
        verdict: run.record.verdict.level,
        state: run.record.state,
        started_utc: run.record.started_utc.clone(),
    }
}

/// Refuses a run that stands twice. A copy that was changed is another one.
fn distinct(pairs: &[(&Run, &Run)]) -> Result<(), CompareError> {
    let all: Vec<&Run> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
    for (place, run) in all.iter().enumerate() {
        if let Some(same) = all[..place].iter().find(|other| is_same(&other.record, &run.record)) {
            return Err(CompareError::SameRun {
                first: same.name.clone(),
                second: run.name.clone(),
                id: run.record.id.clone(),
            });
        }
    }
    Ok(())
}

fn is_same(a: &Record, b: &Record) -> bool {
    let values = |record: &Record| serde_json::to_value(&record.measurement).ok();
    a.id == b.id && values(a) == values(b)
}

impl Comparison {
    /// Whether both sides have a quantity, but fewer pairs than have an interval.
    pub fn is_in_too_few(&self, name: &str) -> bool {
        [&self.only_a, &self.only_b].iter().all(|names| names.iter().any(|of| of == name))
    }

    /// Whether nothing is claimed.
    pub fn is_refused(&self) -> bool {
        !self.obstacles.is_empty() && !self.forced
    }
}
