//! What was asked for, and how much of it is done.

use netfathom_model::plan::{MessagePlan, MessageTest, Place, ProcessorChoice};
use netfathom_model::print::{count, listed};
use netfathom_model::record::MessageResult;
use netfathom_model::units::{format_duration, format_rate};

use crate::story::place::{self, ends as ends_of, path};
use crate::story::{Words, precision};

pub(super) fn done(result: &MessageResult) -> String {
    let trials: usize = result.cells.iter().map(|cell| cell.trials.len()).sum();
    let each = precision::trials(result.plan.trials, result.plan.until);
    format!("{trials} trials of {} cells are finished, {each} of each are planned", result.cells.len())
}

pub(super) fn ends(result: &MessageResult) -> String {
    let place = ends_of(result.plan.place);
    let path = result.plan.path.as_ref().map_or_else(String::new, |wire| format!(" ({})", path(wire)));
    format!("{place}{path} over {}", result.plan.carrier.name())
}

pub(super) fn words(result: &MessageResult) -> Words {
    let plan = &result.plan;
    let between_hosts = matches!(plan.place, Place::To(_));
    let processors = match plan.processors {
        _ if between_hosts => "the server's as its host has it",
        ProcessorChoice::Same => "both ends on one",
        ProcessorChoice::Cross => "each end on one of its own",
        ProcessorChoice::Sweep if plan.polls() => "every kind of pair of two CPUs that the machine has",
        ProcessorChoice::Sweep => "every kind of pair that the machine has",
    };
    let from = if plan.cpus.is_empty() { String::new() } else { format!(", out of {}", listed(&plan.cpus)) };
    let own_path = if between_hosts { "the one between the hosts" } else { "this machine's own" };
    let mut words: Words = vec![
        ("test", test(plan.test).into()),
        ("ends", format!("{} over {}", ends_of(plan.place), plan.carrier.name())),
        ("path", plan.path.as_ref().map_or_else(|| own_path.into(), path)),
        (size_name(plan), listed(plan.sizes_bytes.iter().map(|&b| count(b)))),
        ("layers", listed(&plan.layers)),
        ("placements", listed(plan.placements.iter().map(|p| p.name()))),
        ("CPUs", format!("{processors}{from}")),
        ("a trial has at least", format!("{} {}", count(plan.messages), plan.test.counts())),
        ("and takes", format!("{} to {}", format_duration(plan.least_ns), format_duration(plan.most_ns))),
        (
            "schedule",
            plan.rate_per_s.map_or_else(
                || "unpaced".into(),
                |rate| format!("open loop, {} a second", format_rate(rate)),
            ),
        ),
        ("trials of each cell", precision::trials(plan.trials, plan.until)),
        ("remedies of stalls", if plan.remedies { "measured" } else { "not measured" }.into()),
        ("seed", plan.seed.to_string()),
    ];
    words.extend(precision::words(plan.until));
    words.extend(result.server.as_ref().map(|host| ("server", place::other(host))));
    words
}

pub(super) fn size_name(plan: &MessagePlan) -> &'static str {
    if plan.test == MessageTest::Post { "bytes of a reply" } else { "bytes of a message" }
}

fn test(test: MessageTest) -> &'static str {
    match test {
        MessageTest::Oneway => "one way: the client sends, the server reads",
        MessageTest::Pingpong => "round trips: the server sends each message back",
        MessageTest::Post => "bulk replies to small requests",
    }
}
