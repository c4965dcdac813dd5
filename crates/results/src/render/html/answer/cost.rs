//! The answer of `netfathom cost`.

use netfathom_model::plan::Subject;
use netfathom_model::record::CostResult;

use super::Words;
use crate::story::costed;

pub fn words(result: &CostResult) -> Words {
    let answer = costed::answer(result);
    // A command may begin it, which is not written with a capital.
    let own = result.subject.trim();
    let begins = !own.is_empty() && answer.starts_with(own);
    let mut letters = answer.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let sentence = if begins { answer.clone() } else { format!("{first}{}", letters.as_str()) };
    let names: Vec<&str> = result.benchmarks.iter().map(|b| b.name.as_str()).collect();
    let of_itself = result.plan.as_ref().is_some_and(|plan| plan.own && plan.subject == Subject::Nothing);
    let mut circumstances: Vec<String> = (!of_itself).then(|| result.subject.clone()).into_iter().collect();
    if !names.is_empty() {
        circumstances.push(format!(
            "benchmark{}: {}",
            if names.len() == 1 { "" } else { "s" },
            names.join(", ")
        ));
    }
    circumstances.extend(costed::how(result));
    Words {
        title: if of_itself { "What its own calls take".into() } else { "What it takes from others".into() },
        sentence: format!("{sentence}."),
        there: format!("{}.", costed::there(result)),
        circumstances,
    }
}
