//! The answer of `netfathom message`.

use netfathom_model::record::MessageResult;

use super::{Words, trials};
use crate::render::messaged;

pub fn words(result: &MessageResult) -> Words {
    Words {
        title: "Messages over a connection".into(),
        sentence: messaged::answer(result) + ".",
        there: format!("{}.", messaged::there(result)),
        circumstances: vec![messaged::ends(result), format!("{} a cell", trials(result.plan.trials))],
    }
}
