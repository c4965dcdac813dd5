//! Who has the messages.

use netfathom_model::plan::WatchTarget;
use netfathom_model::record::{WatchResult, WatchUser};

use super::sockets::numbered;

/// Such as `redis-server (pid 712)`, or `python3 (2 processes)` where none of several has nearly all messages.
pub(super) fn name(result: &WatchResult) -> String {
    match (result.process(), &result.plan.target) {
        (_, WatchTarget::All) => "this host".to_owned(),
        (Some(process), _) => format!("{} (pid {})", process.name, process.pid),
        (None, _) if result.has_several() => several(result),
        (None, WatchTarget::Process(pid)) => format!("process {pid}"),
        (None, WatchTarget::Port(port)) => format!("port {port}"),
        (None, WatchTarget::Name(name) | WatchTarget::Cgroup(name) | WatchTarget::Container(name)) => {
            name.clone()
        }
        (None, WatchTarget::Flow { local, peer }) => format!("{local} to {peer}"),
    }
}

/// The name with the most messages first. How many the others are is known of the first names alone.
fn several(result: &WatchResult) -> String {
    let mut named = result.processes.iter().filter(|of| of.name.is_some());
    let (first, has_others) = match named.next() {
        Some(of) => (numbered(of, "pid "), named.next().is_some()),
        None => seen(&result.users),
    };
    let others = if has_others { " and others" } else { "" };
    format!("{first}{others}")
}

/// Those of the name that was seen most often, and whether there are others: `postgres (at least 5 processes)`.
fn seen(users: &[WatchUser]) -> (String, bool) {
    let Some(WatchUser { process, .. }) = users.first() else { return Default::default() };
    let count = users.iter().filter(|of| of.process.name == process.name).count();
    let them = match count {
        1 => format!("pid {}", process.pid),
        n => format!("at least {n} processes"),
    };
    (format!("{} ({them})", process.name), count < users.len())
}
