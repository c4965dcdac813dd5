//! The answer of `netfathom ttcp sweep`.

use netfathom_model::record::SweepResult;
use netfathom_model::units::format_duration;

use super::{Words, trials};
use crate::story::swept;

pub fn words(result: &SweepResult) -> Words {
    Words {
        title: "How fast a transfer is with each send buffer".into(),
        sentence: swept::answer(result) + ".",
        there: format!("{}.", swept::there(result)),
        circumstances: vec![
            swept::ends(&result.plan),
            format!("{} a point", trials(result.plan.trials)),
            format!("{} each", format_duration(result.plan.time_ns)),
        ],
    }
}
