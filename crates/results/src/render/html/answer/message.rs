//! The answer of `netfathom message`.

use netfathom_model::plan::MessageTest;
use netfathom_model::record::MessageResult;

use super::{Words, trials};
use crate::story::messaged;

pub fn words(result: &MessageResult) -> Words {
    let title = match result.plan.test {
        MessageTest::Oneway => "How many messages go over a connection",
        MessageTest::Pingpong => "How long a message takes there and back",
        MessageTest::Post => "How fast bulk replies come",
    };
    let answer = messaged::answer(result);
    // A layer may begin it, which is not written with a capital.
    let mut letters = answer.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    Words {
        title: title.into(),
        sentence: format!("{first}{}.", letters.as_str()),
        there: format!("{}.", messaged::there(result)),
        circumstances: vec![messaged::ends(result), format!("{} a cell", trials(result.plan.trials))],
    }
}
