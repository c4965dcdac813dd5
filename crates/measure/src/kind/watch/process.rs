//! The processes that are watched, and their sockets.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::mem;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::RawFd;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use netfathom_bpf::SetError;
use netfathom_bpf::watch::Watch;
use netfathom_model::plan::WatchPlan;
use netfathom_model::record::{WatchFound, WatchedProcess};
use netfathom_sys::process::{Process, Waited, lives, sockets, wait_for_one};
use netfathom_sys::socket::{is_tcp, is_udp, is_unix, listening_ports};

use super::WatchRunError;
use super::members::{self, Members};

pub(super) struct Watched {
    members: Members,
    /// The first, by a descriptor, if it is the only one that is meant.
    one: Option<Process>,
    /// Others may come before the first and after the last of them.
    awaits: bool,
    first: Option<WatchedProcess>,
    /// Sockets that were looked at, by their inodes.
    known: BTreeMap<u32, BTreeSet<u64>>,
    /// How many these are, as processes may share some; `None` since they changed.
    sockets: Option<u64>,
    /// The ports that they send to; `None`: those of a server's clients too, each another.
    receivers: Option<BTreeSet<u16>>,
    /// One of these is on another host, or in another network namespace.
    leaves: bool,
    pub unmarked: u64,
    /// Of UDP, those that were not there at the first look, and that no program found.
    pub late: u64,
    /// That found some of them.
    pub late_looks: u64,
    late_processes: u64,
    /// Why the sockets of one that is awaited may not be looked at: of the first.
    pub denied: Option<WatchRunError>,
    has_warned: bool,
    looked: bool,
}

impl Watched {
    /// `None` of a target that is no processes.
    pub fn open(plan: &WatchPlan) -> Result<Option<Self>, WatchRunError> {
        let Some(mut members) = Members::find(plan)? else { return Ok(None) };
        let (awaits, pid) = (plan.awaits(), members.now().first().copied());
        // Those that are awaited may end at any time.
        let process = if awaits { None } else { Some(opened(pid.unwrap_or_default())?) };
        let one = process.filter(|_| matches!(members, Members::One(_)));
        let first = pid.map(named);
        Ok(Some(Self {
            members,
            one,
            awaits,
            first,
            known: BTreeMap::new(),
            sockets: None,
            receivers: Some(BTreeSet::new()),
            leaves: false,
            unmarked: 0,
            late: 0,
            late_looks: 0,
            late_processes: 0,
            denied: None,
            has_warned: false,
            looked: false,
        }))
    }

    /// One of them, once there was one.
    pub fn first(&self) -> Option<WatchedProcess> {
        self.first.clone()
    }

    /// What the last look found.
    pub fn found(&mut self) -> WatchFound {
        let all = || self.known.values().flatten().collect::<BTreeSet<_>>().len() as u64;
        WatchFound {
            processes: self.known.len() as u64,
            sockets: *self.sockets.get_or_insert_with(all),
            late_processes: self.late_processes,
        }
    }

    /// Those that the last look found.
    pub fn pids(&self) -> Vec<u32> {
        self.known.keys().copied().collect()
    }

    /// The port that all their connections go to, if it is one.
    pub fn receiver(&self) -> Option<u16> {
        let receivers = self.receivers.as_ref().filter(|receivers| receivers.len() == 1)?;
        receivers.first().copied()
    }

    /// Whether all their connections go to this host, if they have any.
    pub fn stays_here(&self) -> bool {
        !self.leaves && self.receivers.as_ref().is_some_and(|receivers| !receivers.is_empty())
    }

    /// What was denied, once.
    pub fn warning(&mut self) -> Option<&WatchRunError> {
        self.denied.as_ref().filter(|_| !mem::replace(&mut self.has_warned, true))
    }

    /// Has the sockets watched that they made since the last time. Those that their listeners accept are watched
    /// already, and what a known process connects is, too. False if no process is left, and none is awaited.
    pub fn mark(&mut self, watch: &mut Watch) -> Result<bool, WatchRunError> {
        let now = self.members.now();
        self.first = self.first.take().or_else(|| now.first().copied().map(named));
        let ended: Vec<u32> = self.known.keys().copied().filter(|pid| !now.contains(pid)).collect();
        for pid in ended {
            watch.forget_process(pid);
            self.known.remove(&pid);
            self.sockets = None;
        }
        let late = self.late;
        for &pid in &now {
            if !self.known.contains_key(&pid) {
                watch.watch_process(pid)?;
                self.late_processes += u64::from(self.looked);
            }
            self.mark_process(watch, pid)?;
        }
        self.late_looks += u64::from(self.late > late);
        self.looked = true;
        Ok(self.awaits || !now.is_empty())
    }

    fn mark_process(&mut self, watch: &mut Watch, pid: u32) -> Result<(), WatchRunError> {
        let now = match sockets(pid) {
            // None was looked at before the run began.
            Err(source) if self.awaits && is_denied(&source) => {
                self.deny(pid, source)?;
                Vec::new()
            }
            // Of a process that has ended there are none.
            now => now.unwrap_or_default(),
        };
        let now: BTreeMap<u64, RawFd> = now.into_iter().collect();
        let known = self.known.get(&pid);
        if known.is_some_and(|known| known.iter().eq(now.keys())) {
            return Ok(());
        }
        let is_found = known.is_some() && watch.finds_datagrams();
        let is_new = |inode: &u64| known.is_none_or(|known| !known.contains(inode));
        let is_opened = |inode: &u64| !self.known.values().any(|of| of.contains(inode));
        let new = now.iter().filter(|(inode, _)| is_new(inode));
        let new: Vec<(RawFd, bool)> = new.map(|(inode, &number)| (number, is_opened(inode))).collect();
        self.known.insert(pid, now.into_keys().collect());
        self.sockets = None;
        if new.is_empty() {
            return Ok(());
        }
        let Ok(process) = Process::open(pid) else { return Ok(()) };
        let serving = listening_ports(&pid.to_string());
        for (number, is_opened) in new {
            let marked = match process.descriptor(number) {
                Ok(socket) if is_tcp(&socket) => self.mark_stream(watch, &socket.into(), &serving),
                Ok(socket) if is_udp(&socket) => {
                    self.late += u64::from(self.looked && !is_found && is_opened);
                    watch.mark_datagrams(&socket)
                }
                Ok(socket) if is_unix(&socket) => watch.mark_unix(&socket),
                Err(source) if is_denied(&source) => return self.deny(pid, source),
                // Another kind, or closed in the meantime.
                _ => Ok(()),
            };
            self.unmarked += u64::from(marked.is_err());
        }
        Ok(())
    }

    /// Others are followed all the same, where they are awaited.
    fn deny(&mut self, pid: u32, source: io::Error) -> Result<(), WatchRunError> {
        let denied = WatchRunError::Process { pid, source };
        if !self.awaits {
            return Err(denied);
        }
        self.denied.get_or_insert(denied);
        Ok(())
    }

    /// A server's connection has the port of one that listens, which may be another process's: those that fork for each
    /// connection close theirs.
    fn mark_stream(
        &mut self,
        watch: &Watch,
        socket: &TcpStream,
        serving: &BTreeSet<u16>,
    ) -> Result<(), SetError> {
        let serves = socket.local_addr().is_ok_and(|at| serving.contains(&at.port()));
        if serves {
            self.receivers = None;
        } else if let (Some(receivers), Ok(peer)) = (&mut self.receivers, socket.peer_addr()) {
            receivers.insert(peer.port());
            self.leaves |= !socket.local_addr().is_ok_and(|local| is_here(local, peer));
        }
        watch.mark(socket, serves)
    }
}

/// Whether the other end of a connection is on this host, and in this network namespace.
pub(super) fn is_here(local: SocketAddr, peer: SocketAddr) -> bool {
    // A socket of both families has IPv4 addresses as ::ffff:127.0.0.5.
    peer.ip().to_canonical().is_loopback() || peer.ip() == local.ip()
}

fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

fn named(pid: u32) -> WatchedProcess {
    WatchedProcess { pid, name: members::name(pid) }
}

/// A process that is there, and has sockets that may be looked at.
fn opened(pid: u32) -> Result<Process, WatchRunError> {
    let failed = |source| WatchRunError::Process { pid, source };
    if !lives(pid) {
        return Err(failed(io::Error::new(io::ErrorKind::NotFound, "there is none of that number")));
    }
    let process = Process::open(pid).map_err(failed)?;
    sockets(pid).map_err(failed)?;
    Ok(process)
}

/// Waits until the only process has ended, which is true, the time is up or `stop` is set; without one for the latter.
pub(super) fn wait(watched: Option<&Watched>, limit: Duration, stop: &AtomicBool) -> Result<bool, io::Error> {
    let one = watched.and_then(|watched| watched.one.as_ref()).map(std::slice::from_ref).unwrap_or_default();
    Ok(wait_for_one(one, limit, stop)? == Waited::Ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_own_address_is_on_this_host() {
        let is_here = |local: &str, peer: &str| is_here(local.parse().unwrap(), peer.parse().unwrap());
        assert!(is_here("127.0.0.1:40000", "127.0.0.5:80"));
        assert!(is_here("[::ffff:127.0.0.1]:40000", "[::ffff:127.0.0.5]:80"));
        assert!(is_here("[fd00::1]:40000", "[fd00::1]:80"));
        assert!(!is_here("10.0.0.1:40000", "10.0.0.2:80"));
    }
}
