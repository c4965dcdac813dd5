//! The answer of `netfathom reproduce`.

use netfathom_model::record::{Holds, ReproduceResult};

use super::Words;

pub fn words(reproduce: &ReproduceResult) -> Words {
    let plan = &reproduce.plan;
    let mut circumstances = vec![reproduce.source.clone(), plan.name.clone()];
    if plan.quick {
        circumstances.push("quick: smaller than the source's".into());
    }
    Words {
        title: reproduce.title.clone(),
        sentence: sentence(reproduce),
        there: format!("Runs that are here: {}; tables: {}.", reproduce.runs.len(), reproduce.tables.len()),
        circumstances,
    }
}

fn sentence(reproduce: &ReproduceResult) -> String {
    let count = |holds| reproduce.claims.iter().filter(|c| c.holds == holds).count();
    let all = reproduce.claims.len();
    if all == 0 {
        return "No claim of the source was judged, so there is no answer yet.".into();
    }
    let outcomes = [
        (Holds::Yes, "hold here", "holds here"),
        (Holds::No, "do not hold", "does not hold"),
        (Holds::CannotTell, "cannot be told", "cannot be told"),
    ];
    let parts: Vec<String> = outcomes
        .into_iter()
        .filter(|&(h, ..)| count(h) > 0)
        .map(|(h, many, one)| format!("{} {}", count(h), if count(h) == 1 { one } else { many }))
        .collect();
    let claims = if all == 1 { "claim" } else { "claims" };
    format!("Of {all} {claims} of the source, {}.", parts.join(", "))
}
