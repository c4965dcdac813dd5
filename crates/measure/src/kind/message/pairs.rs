//! On which processors the ends run.

use std::fs;

use netfathom_model::plan::{MessagePlan, ProcessorChoice};
use netfathom_model::record::{ProcessorPair, ServerHost, Shares};
use netfathom_sys::cpu;

use super::error::MessageError;

/// The pairs of a plan, those that share most first.
pub fn choose(plan: &MessagePlan) -> Result<Vec<ProcessorPair>, MessageError> {
    let cpus = if plan.cpus.is_empty() { cpu::allowed()? } else { plan.cpus.clone() };
    for &cpu in &plan.cpus {
        tried(cpu)?;
    }
    let pairs = by_sharing(&cpus, shares);
    let chosen: Vec<ProcessorPair> = match plan.processors {
        ProcessorChoice::Same => pairs.into_iter().take(1).collect(),
        // The usual case of two ends that a scheduler has spread: as near as there is.
        ProcessorChoice::Cross => pairs.into_iter().skip(1).take(1).collect(),
        // An end that polls never yields the CPU to the other.
        ProcessorChoice::Sweep if plan.polls() => pairs.into_iter().skip(1).collect(),
        ProcessorChoice::Sweep => pairs,
    };
    if chosen.is_empty() { Err(MessageError::OneProcessor) } else { Ok(chosen) }
}

/// The client's processor here, and the server's on its host.
pub fn between(plan: &MessagePlan, host: &ServerHost, server: usize) -> Result<ProcessorPair, MessageError> {
    let cpus = if plan.cpus.is_empty() { cpu::allowed()? } else { plan.cpus.clone() };
    let client = *cpus.last().ok_or(MessageError::OneProcessor)?;
    tried(client)?;
    let shares = if host.same_host { shares(client, server) } else { Shares::Hosts };
    Ok(ProcessorPair { shares, client, server })
}

/// A server's processor: beside the one that a client on the same host has, if there is another.
pub fn of_server(named: Option<usize>) -> Result<usize, MessageError> {
    let allowed = cpu::allowed()?;
    let server = named.or(allowed.iter().rev().nth(1).or(allowed.last()).copied());
    let server = server.ok_or(MessageError::OneProcessor)?;
    tried(server).map(|()| server)
}

/// Fails where this process may not use a processor; says which it may.
fn tried(cpu: usize) -> Result<(), MessageError> {
    let pinned = std::thread::Builder::new().spawn(move || cpu::pin(cpu)).map_err(MessageError::Thread)?;
    Ok(pinned.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?)
}

/// One pair of each kind there is. The client has the last processor, as far as that goes: the
/// first ones take the interrupts of most machines.
fn by_sharing(cpus: &[usize], shares: impl Fn(usize, usize) -> Shares) -> Vec<ProcessorPair> {
    let Some((&client, others)) = cpus.split_last() else { return Vec::new() };
    let mut pairs = vec![ProcessorPair { shares: Shares::Same, client, server: client }];
    for &server in others.iter().rev() {
        let shared = shares(client, server);
        if pairs.iter().all(|pair| pair.shares != shared) {
            pairs.push(ProcessorPair { shares: shared, client, server });
        }
    }
    pairs.sort_by_key(|pair| pair.shares);
    pairs
}

/// What two processors share, as the kernel tells it; where it does not, nothing.
fn shares(a: usize, b: usize) -> Shares {
    if a == b {
        return Shares::Same;
    }
    let together = |file: &str| {
        let list = fs::read_to_string(format!("/sys/devices/system/cpu/cpu{a}/{file}"));
        list.is_ok_and(|list| listed(&list, b))
    };
    if together("topology/thread_siblings_list") {
        Shares::Core
    } else if together("cache/index3/shared_cpu_list") {
        Shares::Cache
    } else {
        Shares::Nothing
    }
}

/// Whether a list such as `0-3,8` has a processor.
fn listed(list: &str, cpu: usize) -> bool {
    list.trim().split(',').any(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        matches!((first.parse::<usize>(), last.parse::<usize>()), (Ok(first), Ok(last)) if (first..=last).contains(&cpu))
    })
}

#[cfg(test)]
mod tests {
    use netfathom_model::plan::{MessageTest, Place};

    use super::*;

    #[test]
    fn there_is_a_pair_of_each_kind() {
        // Two packages of two cores with two threads each.
        let shares = |a: usize, b: usize| match (a / 2 == b / 2, a / 4 == b / 4) {
            _ if a == b => Shares::Same,
            (true, _) => Shares::Core,
            (_, true) => Shares::Cache,
            _ => Shares::Nothing,
        };
        let pairs = by_sharing(&[0, 1, 2, 3, 4, 5, 6, 7], shares);
        let found: Vec<(Shares, usize)> = pairs.iter().map(|p| (p.shares, p.server)).collect();
        assert_eq!(found, [(Shares::Same, 7), (Shares::Core, 6), (Shares::Cache, 5), (Shares::Nothing, 3)]);
        assert!(pairs.iter().all(|p| p.client == 7));
        assert_eq!(by_sharing(&[3], shares).len(), 1);
    }

    #[test]
    fn ends_that_poll_share_no_processor() {
        let shares_one = |layer: &str| {
            let layers = vec![layer.parse().unwrap()];
            let plan = MessagePlan { layers, ..MessagePlan::paper(MessageTest::Pingpong, Place::Loopback) };
            choose(&plan).is_ok_and(|pairs| pairs.iter().any(|pair| pair.shares == Shares::Same))
        };
        assert!(shares_one("write") && !shares_one("write+poll@server"));
    }

    #[test]
    fn lists_of_processors_are_understood() {
        assert!(listed("0-3,8\n", 2) && listed("0-3,8\n", 8) && !listed("0-3,8\n", 4) && !listed("", 0));
    }
}
