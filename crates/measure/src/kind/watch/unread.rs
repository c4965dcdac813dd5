//! Sockets of UDP that messages come to and no thread reads.

use std::collections::{BTreeMap, BTreeSet};
use std::net::UdpSocket;
use std::os::fd::RawFd;

use netfathom_bpf::watch::Watch;
use netfathom_model::record::{WatchProcesses, WatchResult, WatchUnread, WatchUser, WatchedProcess};
use netfathom_sys::process::{self, Process, is_stopped, proc_is_ours, sockets};
use netfathom_sys::socket::unread_udp;

use super::members;

/// Between two reads of a thread that works on messages there is less.
const LONG_NS: u64 = 1_000_000_000;

/// Those with the most messages first. Without processes, those of this network namespace.
pub(super) fn find(watch: &Watch, pids: Option<Vec<u32>>, end_ns: u64) -> Vec<WatchUnread> {
    let here = pids.is_none().then(|| unread_udp("thread-self"));
    if !proc_is_ours() || here.as_ref().is_some_and(BTreeSet::is_empty) {
        return Vec::new();
    }
    let pids = pids.unwrap_or_else(|| process::all().unwrap_or_default());
    // Processes may share a socket: the first one is named, or one that is stopped.
    let mut found: BTreeMap<u64, WatchUnread> = BTreeMap::new();
    for pid in pids {
        let waiting = here.clone().unwrap_or_else(|| unread_udp(&pid.to_string()));
        let each = if waiting.is_empty() { Vec::new() } else { sockets(pid).unwrap_or_default() };
        for (inode, number) in each.into_iter().filter(|(inode, _)| waiting.contains(inode)) {
            if found.get(&inode).is_some_and(|known| known.stopped || !is_stopped(pid)) {
                continue;
            }
            found.extend(unread(watch, pid, number, end_ns).map(|of| (inode, of)));
        }
    }
    let mut found: Vec<WatchUnread> = found.into_values().collect();
    found.sort_by_key(|of| std::cmp::Reverse(of.messages));
    found
}

fn unread(watch: &Watch, pid: u32, number: RawFd, end_ns: u64) -> Option<WatchUnread> {
    let socket = UdpSocket::from(Process::open(pid).ok()?.descriptor(number).ok()?);
    let unread = watch.unread(&socket).ok()??;
    let for_ns = end_ns.saturating_sub(unread.since_ns);
    (for_ns >= LONG_NS).then(|| WatchUnread {
        local: socket.local_addr().ok().map(|at| at.to_string()),
        process: WatchedProcess { pid, name: members::name(pid) },
        messages: unread.messages,
        for_ns,
        stopped: is_stopped(pid),
    })
}

/// Counts their processes among those that use the watched sockets: programs see those that read.
pub(super) fn name(result: &mut WatchResult) {
    for WatchUnread { process, .. } in &result.unread {
        if !result.processes.is_empty() {
            WatchProcesses::of(&mut result.processes, Some(process));
        } else if !result.users.iter().any(|of| of.process.pid == process.pid) {
            WatchUser::add(&mut result.users, process.clone());
        }
    }
}
