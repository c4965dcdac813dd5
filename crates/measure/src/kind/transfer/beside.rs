//! What other processes ran meanwhile: an end that waits for a CPU waits for one of them.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use netfathom_model::record::Holder;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::process;
use netfathom_sys::socket::tcp_inodes;

use super::explain::Busiest;

/// What each process had run when it began.
pub(super) struct Beside {
    ran_ns: BTreeMap<u32, u64>,
    since_ns: u64,
}

impl Beside {
    pub fn begin() -> Self {
        Self { ran_ns: process::spent_by_all(), since_ns: monotonic_ns() }
    }

    /// The one that ran longest since then, this process apart; `None` where none ran.
    pub fn busiest(&self) -> Option<Busiest> {
        let own = std::process::id();
        let mut since = process::spent_by_all();
        since.retain(|pid, _| *pid != own);
        let (pid, ran_ns) =
            since.into_iter().map(|(pid, ns)| (pid, self.since(pid, ns))).max_by_key(|of| of.1)?;
        let name = process::name(pid).filter(|_| ran_ns > 0)?;
        let by = Holder::Process { name, pid, cgroup: None };
        Some(Busiest { by, cpus: ran_ns as f64 / (monotonic_ns() - self.since_ns).max(1) as f64 })
    }

    /// One that was not there ran all of it since, or has the number of one that was.
    fn since(&self, pid: u32, ns: u64) -> u64 {
        let before = self.ran_ns.get(&pid).copied().unwrap_or(0);
        ns.checked_sub(before).unwrap_or(ns)
    }
}

/// The processes at the other end of a connection, this one apart: they have a socket at the peer's port. None where the
/// peer is another host, or a process that this one may not look at.
pub(super) fn other_end(own: IpAddr, peer: SocketAddr) -> Vec<Holder> {
    let address = peer.ip().to_canonical();
    if !address.is_loopback() && address != own.to_canonical() {
        return Vec::new();
    }
    let theirs = tcp_inodes(peer.port());
    let is_it = |pid: u32| {
        let sockets = process::sockets(pid).unwrap_or_default();
        sockets.iter().any(|(inode, _)| theirs.contains(inode))
    };
    let all = process::all().unwrap_or_default().into_iter();
    let found = all.filter(|&pid| pid != std::process::id() && is_it(pid));
    found.filter_map(|pid| Some(Holder::Process { name: process::name(pid)?, pid, cgroup: None })).collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::OwnedFd;
    use std::process::Command;

    use netfathom_testkit::Burner;

    use super::*;

    #[test]
    fn the_other_end_is_found_on_this_host_only() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = listener.local_addr().unwrap();
        let mut sleeps = Command::new("sleep").arg("60").stdin(OwnedFd::from(listener)).spawn().unwrap();
        let found = other_end(peer.ip(), peer);
        let elsewhere = other_end(peer.ip(), SocketAddr::new([192, 0, 2, 1].into(), peer.port()));
        sleeps.kill().unwrap();
        sleeps.wait().unwrap();
        let expected = Holder::Process { name: "sleep".into(), pid: sleeps.id(), cgroup: None };
        assert!(found.contains(&expected), "{found:?}");
        assert!(elsewhere.is_empty(), "{elsewhere:?}");
    }

    #[test]
    fn what_a_process_ran_since_is_its_own_count() {
        let burner = Burner::on(netfathom_sys::cpu::allowed().unwrap()[0]);
        let beside = Beside::begin();
        let before = beside.ran_ns[&burner.pid()];
        while burner.ran_ns() < before + 20_000_000 {
            std::thread::yield_now();
        }
        let now = process::spent_by_all()[&burner.pid()];
        let since = beside.since(burner.pid(), now);
        assert!(since >= 20_000_000 && since <= burner.ran_ns() - before, "{since} {before}");
        // Another test may run a busier one.
        let busiest = beside.busiest().unwrap();
        let is_another = matches!(busiest.by, Holder::Process { pid, .. } if pid != std::process::id());
        assert!(busiest.cpus > 0.0 && is_another, "{busiest:?}");
        assert_eq!(beside.since(u32::MAX, 5), 5);
    }
}
