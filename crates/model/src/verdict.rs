//! How far a result can be trusted, and what was noticed on the way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::Direction;
use crate::record::Value;

/// How far a result can be trusted. Ordered: the worst reason decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// As it stands.
    #[default]
    Valid,
    /// With the reasons in mind.
    Degraded,
    /// Not at all.
    Void,
}

named! { Level: Valid = "VALID", Degraded = "DEGRADED", Void = "VOID" }

/// A part of a result that can be trusted while another one cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The load as it was planned: rates, peaks, and times of all messages.
    Load,
    /// How many messages did not arrive.
    Loss,
    /// How late messages were sent.
    Lateness,
    /// The time to send.
    Tx,
    /// The time to receive.
    Rx,
    /// The time from one capture to the next.
    Between,
    /// What a tap costs, against trials without one.
    Overhead,
    /// What another tap measures of the same load.
    CrossCheck,
    /// Some cells of `message` or rows of `capacity`, each with a verdict of its own.
    Cells,
}

named! {
    Part: Load = "load", Loss = "loss", Lateness = "lateness", Tx = "tx", Rx = "rx", Between = "between",
    Overhead = "overhead", CrossCheck = "cross-check", Cells = "cells",
}

impl From<Direction> for Part {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Tx => Self::Tx,
            Direction::Rx => Self::Rx,
        }
    }
}

/// What the answer of a part is.
const ANSWERED: Value = Value::Mean;

/// One thing that lowers the trust.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// How far down it takes the verdict.
    pub level: Level,
    /// The only parts that it is about; empty: everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub about: Vec<Part>,
    /// The only value of these parts that it is about; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// What, why, and what to do.
    pub text: String,
}

impl Reason {
    fn concerns(&self, part: Part, value: Option<Value>) -> bool {
        let is_of_part = self.about.is_empty() || self.about.contains(&part);
        is_of_part && (self.value.is_none() || self.value == value)
    }

    /// Whether the answer of its parts may rest on it.
    pub fn is_of_answer(&self) -> bool {
        self.value.is_none_or(|value| value == ANSWERED)
    }

    /// What it is about, as `load, rx` or `rx p99`; nothing of one about everything that is answered, or of cells, which
    /// its text names.
    pub fn scope(&self) -> String {
        let ways = [Part::Tx, Part::Rx].iter().all(|way| self.about.contains(way));
        let is_named = |part: &&Part| !ways && **part != Part::Cells;
        let about: Vec<&str> = self.about.iter().filter(is_named).map(|part| part.name()).collect();
        format!("{} {}", about.join(", "), self.value.map_or("", Value::name)).trim().to_owned()
    }

    /// What it is about with its level, such as `load VOID`.
    pub fn named(&self) -> String {
        format!("{} {}", self.scope(), self.level.name()).trim().to_owned()
    }

    /// What stands behind its level in a verdict of that level, if that does not rest on it.
    pub fn unused(&self, level: Level) -> &'static str {
        if self.level > level { ", not part of the answer" } else { "" }
    }

    /// What stands before its text in a verdict of that level, such as `rx VOID: `.
    pub fn label(&self, level: Level) -> String {
        let name = if self.level == level { "" } else { self.level.name() };
        let label = format!("{} {name}{}", self.scope(), self.unused(level));
        if label == " " { label.trim().into() } else { format!("{}: ", label.trim()) }
    }
}

/// VALID, DEGRADED or VOID, with reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The worst of the reasons about what the answer says; VALID without any.
    pub level: Level,
    /// Why it is not VALID.
    pub reasons: Vec<Reason>,
}

impl Verdict {
    /// Adds a reason, once.
    pub fn lower(&mut self, level: Level, text: impl Into<String>) {
        self.lower_only(&[], level, text);
    }

    /// Adds a reason about some parts only, or about everything if there are none.
    pub fn lower_only(&mut self, about: &[Part], level: Level, text: impl Into<String>) {
        let text = text.into();
        self.level = self.level.max(level);
        let is_same =
            |known: &&mut Reason| known.level == level && known.text == text && known.value.is_none();
        match self.reasons.iter_mut().find(is_same) {
            Some(known) if about.is_empty() || known.about.is_empty() => known.about.clear(),
            Some(known) => {
                let is_new = |part: &Part| !known.about.contains(part);
                let more: Vec<Part> = about.iter().copied().filter(is_new).collect();
                known.about.extend(more);
            }
            None => self.reasons.push(Reason { level, about: about.to_vec(), value: None, text }),
        }
    }

    /// Adds a reason about one value of a part only.
    pub fn lower_value(&mut self, part: Part, value: Value, level: Level, text: impl Into<String>) {
        self.level = self.level.max(level);
        self.reasons.push(Reason { level, about: vec![part], value: Some(value), text: text.into() });
    }

    /// The level is that of the parts that the answer is made of.
    pub fn answered_by(self, parts: &[Part]) -> Self {
        let level = parts.iter().map(|&part| self.of(part)).max();
        Self { level: level.unwrap_or(self.level), ..self }
    }

    /// The first reason that decides the level.
    pub fn deciding(&self) -> Option<&Reason> {
        self.reasons.iter().find(|reason| reason.level == self.level && reason.is_of_answer())
    }

    /// How far the answer of a part can be trusted.
    pub fn of(&self, part: Part) -> Level {
        self.of_value(part, Some(ANSWERED))
    }

    /// How far one value of a part can be trusted; `None` of a value that no reason is about alone.
    pub fn of_value(&self, part: Part, value: Option<Value>) -> Level {
        let about = self.reasons.iter().filter(|reason| reason.concerns(part, value));
        about.map(|reason| reason.level).max().unwrap_or_default()
    }

    /// How far everything can be trusted at most: by the reasons that are about no part alone.
    pub fn of_whole(&self) -> Level {
        let whole = self.reasons.iter().filter(|reason| reason.about.is_empty());
        whole.map(|reason| reason.level).max().unwrap_or_default()
    }

    /// Whether nothing lowers the trust.
    pub fn is_valid(&self) -> bool {
        *self == Self::default()
    }

    /// The reasons, without those that say of one part what is worse for another; what decides the level stays.
    pub fn shown(&self) -> impl Iterator<Item = &Reason> {
        let worse =
            |r: &Reason| self.reasons.iter().any(|other| other.text == r.text && other.level > r.level);
        self.reasons.iter().filter(move |reason| reason.level == self.level || !worse(reason))
    }

    /// The same for an answer that rests on every part.
    pub fn of_everything(self) -> Self {
        self.answered_by(&Part::ALL)
    }
}

/// An explained observation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What was seen.
    pub seen: String,
    /// Why it is so.
    pub cause: String,
    /// The numbers behind it.
    pub evidence: String,
    /// What to do about it.
    pub remedy: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_the_level_of_the_reasons_about_it() {
        let mut verdict = Verdict::default();
        verdict.lower(Level::Degraded, "no part");
        verdict.lower_only(&[Part::Load], Level::Void, "late");
        verdict.lower_only(&[Part::Rx], Level::Void, "late");
        assert_eq!(verdict.reasons.len(), 2);
        let levels = [Part::Load, Part::Tx, Part::Rx].map(|part| verdict.of(part));
        assert_eq!(levels, [Level::Void, Level::Degraded, Level::Void]);
        assert_eq!(verdict.clone().answered_by(&[Part::Tx]).level, Level::Degraded);
        assert_eq!(verdict.clone().answered_by(&[]).level, Level::Void);
        assert_eq!(verdict.clone().of_everything().level, Level::Void);
        assert_eq!(verdict.reasons[1].label(Level::Void), "load, rx: ");
        let unused = "load, rx VOID, not part of the answer: ";
        assert_eq!(verdict.reasons[1].label(Level::Degraded), unused);
        verdict.lower_only(&[Part::Tx], Level::Degraded, "late");
        assert_eq!((verdict.reasons.len(), verdict.shown().count()), (3, 2));
        let deciding = verdict.clone().answered_by(&[Part::Tx]);
        assert!(deciding.shown().any(|reason| reason.level == Level::Degraded && reason.text == "late"));
        verdict.lower(Level::Void, "late");
        assert_eq!(verdict.of(Part::Tx), Level::Void);
        assert_eq!(verdict.reasons[1].label(Level::Void), "");
    }

    #[test]
    fn a_reason_about_one_value_leaves_the_others_as_they_are() {
        let mut verdict = Verdict::default();
        verdict.lower_only(&[Part::Tx], Level::Degraded, "disturbed");
        verdict.lower_value(Part::Rx, Value::P99, Level::Void, "wide");
        let of_rx = [Some(Value::Mean), Some(Value::P99), None].map(|of| verdict.of_value(Part::Rx, of));
        assert_eq!(of_rx, [Level::Valid, Level::Void, Level::Valid]);
        assert_eq!(verdict.of_value(Part::Tx, Some(Value::P99)), Level::Degraded);
        assert_eq!(verdict.clone().answered_by(&[Part::Rx]).level, Level::Valid);
        assert_eq!(verdict.reasons[1].label(Level::Valid), "rx p99 VOID, not part of the answer: ");
        // The answer is of means.
        verdict.lower_value(Part::Rx, Value::Mean, Level::Degraded, "wide");
        assert_eq!(verdict.of_value(Part::Rx, None), Level::Valid);
        assert_eq!(verdict.clone().answered_by(&[Part::Rx]).level, Level::Degraded);
        // A wide p99 that comes first decides nothing.
        let mut later = Verdict::default();
        later.lower_value(Part::Tx, Value::P99, Level::Degraded, "wide");
        later.lower_value(Part::Rx, Value::Mean, Level::Degraded, "wider");
        assert_eq!(later.deciding().map(|reason| reason.text.as_str()), Some("wider"));
        let json = serde_json::to_string(&verdict).unwrap();
        assert_eq!(serde_json::from_str::<Verdict>(&json).unwrap(), verdict);
    }

    #[test]
    fn a_reason_about_cells_leaves_the_whole_as_it_is() {
        let mut verdict = Verdict::default();
        verdict.lower_only(&[Part::Cells], Level::Void, "write, 64 bytes: lost");
        assert_eq!((verdict.level, verdict.of_whole()), (Level::Void, Level::Valid));
        assert_eq!(verdict.reasons[0].label(Level::Void), "");
        verdict.lower(Level::Degraded, "ended early");
        assert_eq!((verdict.of_whole(), verdict.of(Part::Cells)), (Level::Degraded, Level::Void));
    }

    #[test]
    fn a_reason_about_both_ways_names_neither() {
        let mut verdict = Verdict::default();
        verdict.lower_only(&[Part::Tx], Level::Degraded, "disturbed");
        assert_eq!(verdict.reasons[0].label(Level::Degraded), "tx: ");
        verdict.lower_only(&[Part::Rx], Level::Degraded, "disturbed");
        assert_eq!(verdict.reasons[0].label(Level::Degraded), "");
    }
}
