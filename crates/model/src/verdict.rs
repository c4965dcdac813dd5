//! How far a result can be trusted, and what was noticed on the way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// One thing that lowers the trust.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// How far down it takes the verdict.
    pub level: Level,
    /// What, why, and what to do.
    pub text: String,
}

/// VALID, DEGRADED or VOID, with reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The worst of the reasons; VALID without any.
    pub level: Level,
    /// Why it is not VALID.
    pub reasons: Vec<Reason>,
}

impl Verdict {
    /// Adds a reason, once.
    pub fn lower(&mut self, level: Level, text: impl Into<String>) {
        let reason = Reason { level, text: text.into() };
        self.level = self.level.max(level);
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
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
