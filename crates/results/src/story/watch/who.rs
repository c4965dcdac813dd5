//! Who has the messages.

use netfathom_model::plan::WatchTarget;
use netfathom_model::record::{WatchProcesses, WatchResult};

use super::sockets::numbered;

/// Such as `redis-server (pid 712)`, or `python3 (2 processes)` where the record has several.
pub(super) fn name(result: &WatchResult) -> String {
    match (&result.reader, &result.plan.target) {
        (_, WatchTarget::All) => "this host".to_owned(),
        (Some(_), _) if are_several(result) => processes(result),
        (Some(reader), _) => format!("{} (pid {})", reader.name, reader.pid),
        (None, WatchTarget::Process(pid)) => format!("process {pid}"),
        (None, WatchTarget::Port(port)) => format!("port {port}"),
        (None, WatchTarget::Name(name) | WatchTarget::Cgroup(name) | WatchTarget::Container(name)) => {
            name.clone()
        }
        (None, WatchTarget::Flow { local, peer }) => format!("{local} to {peer}"),
    }
}

/// For a command, where it is one.
pub(super) fn pid(result: &WatchResult) -> String {
    let is_one = result.plan.target != WatchTarget::All && !are_several(result);
    result.reader.as_ref().filter(|_| is_one).map_or_else(|| "PID".to_owned(), |of| of.pid.to_string())
}

fn are_several(result: &WatchResult) -> bool {
    named(result).map(|of| of.pids.len()).sum::<usize>() > 1
}

/// The name with the most messages first. How many the others are is known of the first names alone.
fn processes(result: &WatchResult) -> String {
    let mut named = named(result);
    let first = named.next().map_or_else(String::new, |of| numbered(of, "pid "));
    let others = if named.next().is_some() { " and others" } else { "" };
    format!("{first}{others}")
}

fn named(result: &WatchResult) -> impl Iterator<Item = &WatchProcesses> {
    result.processes.iter().filter(|of| of.name.is_some())
}
