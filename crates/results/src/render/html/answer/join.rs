//! The answer of `netfathom join`.

use netfathom_model::path::Direction;
use netfathom_model::record::JoinResult;

use super::{Words, time};
use crate::story::joined::{self, Way};

pub fn words(join: &JoinResult) -> Words {
    let plan = &join.plan;
    let listed = |names: &[String], what: &str| match names {
        [one] => format!("{what} {one}"),
        _ => format!("{} {what}s", names.len()),
    };
    let mut circumstances = vec![
        listed(&plan.captures, "capture"),
        listed(&plan.logs, "log"),
        format!("clocks {}", joined::clock(plan)),
    ];
    circumstances.extend(plan.port.map(|port| format!("UDP port {port}")));
    Words {
        title: "Time in the network stack, from captures and logs".into(),
        sentence: sentence(join),
        there: format!("{} captures and {} logs were read.", join.captures.len(), join.logs.len()),
        circumstances,
    }
}

fn sentence(join: &JoinResult) -> String {
    let ways = joined::ways(join);
    let Some(first) = ways.first() else {
        return "No message was in both a capture and a log, so there is no answer yet.".into();
    };
    let counts = |w: &Way| (w.span.times.n, w.logged);
    let same = ways.iter().all(|w| counts(w) == counts(first));
    let each = |w: &Way| {
        let way = if w.direction == Direction::Tx { "out" } else { "in" };
        let by = if same { String::new() } else { format!(" (by {})", joined_of(w)) };
        let above = joined::above_shortest(join, w.direction);
        let steps = joined::doubt(w.span).map_or_else(String::new, |ns| format!(" (±{})", time(ns)));
        format!("{}{steps}{above} on its way {way}{by}", time(w.span.times.mean_ns))
    };
    let by = if same { format!(", by {}", joined_of(first)) } else { String::new() };
    format!("A message spends {}{by}.", ways.iter().map(each).collect::<Vec<_>>().join(" and "))
}

fn joined_of(way: &Way) -> String {
    let count = |n: u64| crate::story::beside::number(n as f64, None);
    format!("{} messages joined of {}", count(way.span.times.n), count(way.logged))
}
