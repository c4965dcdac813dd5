//! What comes of a threshold: the change in its unit, the interval of that, and whether it decides.

use netfathom_model::print;
use netfathom_stats::Contrast;
use serde::Serialize;

use super::judge::{FOUND, LEVEL, STRICT, contrast};
use super::{Compared, Design, Outcome, Scale};

/// With fewer pairs only enormous changes are significant (Student's t of 99 % is 9.9 with three, 5.8 with four).
pub const LEAST_PAIRS: usize = 4;

/// As many rounds as the command line takes at most.
pub const MOST_PAIRS: usize = 1000;

/// What matters most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Passage {
    /// The 99 % interval of the change, corrected for all quantities that have a threshold, lies beyond it.
    Beyond,
    /// The runs cannot be compared, or not in this; or there are too few to find any change.
    NotTested,
    CannotTell,
    /// The 95 % interval of the change lies on the near side of it.
    Within,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gate {
    pub threshold: String,
    pub quantity: String,
    pub passage: Passage,
    /// How much it changed, in what the threshold is written in; `None` where it is not tested.
    pub change: Option<GateChange>,
    /// The interval of that change that decides, or that leaves it open.
    pub interval: Option<GateInterval>,
    /// Where it is inconclusive and runs are pairs: how many would decide it four times in five, if change and spread
    /// stay as they are. `None` beyond [`MOST_PAIRS`].
    pub pairs_needed: Option<usize>,
    /// Why it is not decided, besides what keeps the runs from being compared at all.
    pub why: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GateChange {
    /// A ratio for a threshold in percent, otherwise a difference.
    pub scale: Scale,
    pub value: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GateInterval {
    /// 0.95, or 0.99 corrected for all quantities that have a threshold.
    pub level: f64,
    pub low: f64,
    pub high: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Gates {
    pub gates: Vec<Gate>,
    /// How many quantities are decided together.
    pub together: usize,
}

impl Gates {
    pub fn fail(&self) -> bool {
        self.have(Passage::Beyond)
    }

    pub fn are_inconclusive(&self) -> bool {
        self.have(Passage::CannotTell)
    }

    fn have(&self, passage: Passage) -> bool {
        self.gates.iter().any(|gate| gate.passage == passage)
    }

    pub fn has(&self, quantity: &str) -> bool {
        self.gates.iter().any(|gate| gate.quantity == quantity)
    }

    /// The threshold of a quantity that was tested; the first of several.
    pub fn tested(&self, quantity: &str) -> Option<&Gate> {
        let tested = |gate: &&Gate| gate.quantity == quantity && gate.passage != Passage::NotTested;
        self.gates.iter().filter(tested).min_by_key(|gate| gate.passage)
    }

    pub fn are_tested(&self) -> bool {
        !self.have(Passage::NotTested)
    }
}

/// Where the change alone is known.
const NO_SPREAD: &str = "the change is the same in all rounds, so chance cannot be estimated";

/// A quantity beside a limit, both on the scale of the limit. The interval of a ratio does not give that of the
/// difference: where A is small, its spread makes the ratio wide and the difference hardly so.
pub(super) struct Tested<'a> {
    design: Design,
    quantity: &'a Compared,
    scale: Scale,
    /// As of the contrast: for ratios a logarithm.
    limit: f64,
    above: bool,
    /// `None` of values without a spread.
    contrast: Option<Contrast>,
}

impl<'a> Tested<'a> {
    pub(super) fn new(design: Design, quantity: &'a Compared, scale: Scale, limit: f64, above: bool) -> Self {
        let contrast = contrast(design, scale, &quantity.a, &quantity.b).filter(|of| of.error > 0.0);
        Self { design, quantity, scale, limit, above, contrast }
    }

    pub(super) fn name(&self) -> &'a str {
        &self.quantity.name
    }

    pub(super) fn has_spread(&self) -> bool {
        self.contrast.is_some()
    }

    pub(super) fn gate(&self, untested: Gate, together: usize) -> Gate {
        let (passage, interval) = self.passage(together);
        let is_open = passage == Passage::CannotTell;
        if let Some(why) = self.undecidable().filter(|_| is_open) {
            return Gate { why: Some(why), ..untested };
        }
        let value = self.scale.back(self.scale.change(&self.quantity.a, &self.quantity.b));
        let change = Some(GateChange { scale: self.scale, value });
        let pairs_needed = if is_open { self.pairs_needed(together) } else { None };
        Gate { passage, change, interval, pairs_needed, ..untested }
    }

    /// A change fails once its whole interval lies beyond the limit, at the level of all decisions; it passes once the
    /// interval of [`STRICT`] lies short of it.
    fn passage(&self, together: usize) -> (Passage, Option<GateInterval>) {
        if self.quantity.outcome == Outcome::Same {
            return (Passage::Within, None);
        }
        let Some(contrast) = self.contrast else { return (Passage::CannotTell, None) };
        let beyond = |level: f64| {
            let (low, high) = contrast.interval(level);
            [low, high].map(|end| self.is_beyond(end))
        };
        let corrected = corrected(together);
        let (passage, level) = match beyond(STRICT) {
            [true, true] if beyond(corrected) == [true, true] => (Passage::Beyond, corrected),
            [true, true] => (Passage::CannotTell, corrected),
            [false, false] => (Passage::Within, STRICT),
            _ => (Passage::CannotTell, STRICT),
        };
        let (low, high) = contrast.interval(level);
        let [low, high] = [low, high].map(|end| self.scale.back(end));
        (passage, Some(GateInterval { level, low, high }))
    }

    fn is_beyond(&self, change: f64) -> bool {
        if self.above { change > self.limit } else { change < self.limit }
    }

    /// Why no change could have been significant.
    fn undecidable(&self) -> Option<String> {
        let pairs = self.quantity.a.len();
        if self.design == Design::Pairs && pairs < LEAST_PAIRS {
            return Some(format!(
                "only {} of {LEAST_PAIRS} rounds that are needed count: more --rounds",
                print::count(pairs as u64)
            ));
        }
        // The note is about the table's own scale.
        let note = self.quantity.note.clone().filter(|_| self.quantity.chance.is_none());
        self.contrast.is_none().then(|| note.unwrap_or_else(|| NO_SPREAD.into()))
    }

    /// Until its interval does not reach the threshold, on whichever side the change is. Only pairs can be counted.
    fn pairs_needed(&self, together: usize) -> Option<usize> {
        let contrast = self.contrast.filter(|_| self.design == Design::Pairs)?;
        let level = if self.is_beyond(contrast.value) { corrected(together) } else { STRICT };
        let distance = self.limit - contrast.value;
        contrast.pairs_needed(self.quantity.a.len(), distance, level, FOUND, MOST_PAIRS)
    }
}

/// The level of an interval, so that all that are decided together have the level of one (Bonferroni).
fn corrected(together: usize) -> f64 {
    1.0 - (1.0 - LEVEL) / together.max(1) as f64
}
