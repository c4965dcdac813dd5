//! Where the messages of other programs spend their time: from the link layer to the application's read of them, and
//! from the call that sends them to the device.
//!
//! Nothing of a message is read but its headers. What is summed takes the same memory however long it goes on.
//!
//! The name of a program decides when it is loaded: `rx_` where what comes in is watched, `tx_` where what is sent is,
//! `on_` for either (`OF_BOTH`); `udp_` is attached once there is a socket of UDP. `Watch::attach` leaves out what the
//! kernel has no hook for.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use libbpf_rs::{Link, MapCore, MapFlags, Object};
use netfathom_model::path::Direction;
use netfathom_model::record::WatchedProcess;
use netfathom_sys::clock::{monotonic_ns, realtime_ahead_ns};
use netfathom_sys::confinement::tracing_remedy;
use netfathom_sys::memory::page_bytes;
use netfathom_sys::socket::{enable_rx_stamps, listening_ports, netns_and_port};

mod drops;
mod queue;
mod read;
mod slow;
mod sockets;
#[cfg(test)]
mod tests;

crate::mapping::abi!("watch");

pub use queue::Unread;
pub use sockets::Sockets;

use self::abi::SERVER;
use self::abi::copied::{Config, UdpPort};
use self::abi::shared::Shared;
use self::sockets::Places;
use crate::mapping::{Mapping, as_bytes, text};
use crate::run_time::{self, RunTime};
use crate::set::{Set, SetError, set_namespace};
use crate::{function, holders, tracepoint};

const SET: Set = Set {
    name: "the programs that watch sockets",
    object: include_bytes!(concat!(env!("OUT_DIR"), "/watch.bpf.o")),
    shares_clock: true,
};

/// Of what comes in, the only hook that kernels lack, and what comes of it is beside the total. What is sent needs it.
const SENDING: &str = "tcp_sendmsg_locked";

/// The hooks of what comes by UDP. They fire for TCP too, so they are attached once there is a socket of UDP.
const DATAGRAMS: [&str; 3] = ["sk_data_ready", "sock_recv_length", "udp_fail_queue_rcv_skb"];
const PREFIX_DATAGRAMS: &str = "udp_";

/// The functions that send by UDP: no tracepoint shows when they begin.
const CALLS: [&str; 2] = ["udp_sendmsg", "udpv6_sendmsg"];

/// Of those, if the program attaches to one.
fn call(program: &str) -> Option<&'static str> {
    CALLS.into_iter().find(|function| program.strip_prefix(prefix(Direction::Tx)) == Some(function))
}

/// The hook that sees which sockets a process opens, and what comes with the end of a handshake.
const STATES: &str = "on_inet_sock_set_state";
/// The hook that sees which threads are made.
const NEW_THREADS: &str = "rx_task_newtask";

/// Fires once a connection or a thread: attached between samples too, for what they would miss cannot be found out later.
fn is_lasting(program: &str) -> bool {
    program == STATES || program == NEW_THREADS
}

/// In place of a sample, as in sample.h: none goes on.
const NO_SAMPLE: u64 = 1;
/// In place of a process, as in thread.h: its name is being written.
const NAMING: u32 = u32::MAX;

/// Why messages cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error("{}{}", .0, denied(.0))]
    Set(#[from] SetError),
    #[error("cannot watch Unix sockets: this kernel has no tracepoint {0} (Linux 6.3)")]
    Unix(String),
    #[error("cannot have the kernel stamp packets: {0}; is the loopback device up? (ip link set lo up)")]
    Stamps(io::Error),
}

fn denied(error: &SetError) -> String {
    match error {
        SetError::Step { source, .. } if source.is_denied() => format!("; {}", tracing_remedy()),
        _ => String::new(),
    }
}

/// The programs of both directions; of one, the constants leave out the other.
const OF_BOTH: [&str; 3] = ["on_tcp_probe", "on_tcp_sendmsg_locked", "on_kfree_skb"];

/// What the names of the others begin with.
fn prefix(direction: Direction) -> &'static str {
    match direction {
        Direction::Rx => "rx_",
        Direction::Tx => "tx_",
    }
}

/// The map with the state of a socket.
fn sockets(direction: Direction) -> &'static str {
    match direction {
        Direction::Rx => "flows",
        Direction::Tx => "sendings",
    }
}

/// Which sockets are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Those that are [marked](Watch::mark), and those that [watched processes](Watch::watch_process) open.
    Marked,
    /// All of TCP and UDP; of UDP what comes, after [`Watch::follow_datagrams`].
    All,
    /// Those with this local port, a server's; what comes by UDP, after [`Watch::follow_datagrams`].
    Port(u16),
    /// One connection: its own address, and that of the other end.
    Flow(SocketAddr, SocketAddr),
}

/// What is kept beside the sums of all messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// [Sums of single sockets](Watch::sockets).
    pub by_socket: bool,
    /// [Single messages](Watch::slow) that took long.
    pub slow: bool,
    /// Messages are followed in [samples](Watch::begin_sample) alone.
    pub samples: bool,
    /// Of marked sockets those of Unix too: what comes has times, what is sent is counted.
    pub unix: bool,
}

/// Watches until it is dropped, or the process ends.
pub struct Watch {
    object: Object,
    mapping: Mapping<Shared>,
    /// By the names of their programs.
    links: BTreeMap<String, Link>,
    directions: Vec<Direction>,
    samples: bool,
    sees_sending: bool,
    has_datagrams: bool,
    follows_datagrams: bool,
    follows_unix: bool,
    places: Places,
    /// While it is open, the kernel stamps packets as they come in.
    _stamps: Option<UdpSocket>,
}

impl Watch {
    /// Watches these sockets from now on; with [`Detail::samples`] from the first sample on. No message is slow before
    /// [`Self::set_slow`].
    ///
    /// # Errors
    /// What the kernel refused. Needs CAP_BPF and CAP_PERFMON, Linux 5.17 and CONFIG_SCHED_INFO; for what is sent Linux
    /// 6.16.
    pub fn attach(
        selection: Selection,
        directions: &[Direction],
        detail: Detail,
    ) -> Result<Self, WatchError> {
        let stamps = directions.contains(&Direction::Rx).then(stamps).transpose();
        let stamps = stamps.map_err(WatchError::Stamps)?;
        let sees_sending = !tracepoint::is_missing(SENDING);
        let sees_datagrams =
            directions.contains(&Direction::Rx) && !DATAGRAMS.iter().any(|name| tracepoint::is_missing(name));
        if detail.unix && !sees_datagrams {
            let missing = DATAGRAMS.into_iter().filter(|name| tracepoint::is_missing(name));
            return Err(WatchError::Unix(missing.collect::<Vec<_>>().join(", ")));
        }
        // Without it nothing of what is sent can be seen, and of what comes in only the application's own time.
        let lacks = |name: &str| {
            !sees_sending && directions == [Direction::Rx] && name.strip_prefix("on_") == Some(SENDING)
        };
        let wanted = |name: &str| {
            let asked =
                OF_BOTH.contains(&name) || directions.iter().any(|&way| name.starts_with(prefix(way)));
            asked && !lacks(name) && call(name).is_none_or(function::has_hooks)
                || sees_datagrams && name.starts_with(PREFIX_DATAGRAMS)
                || name == STATES && (selection == Selection::Marked || directions.contains(&Direction::Rx))
        };
        let mut open = SET.open(wanted)?;
        SET.configure(&mut open, as_bytes(&config(selection, directions, detail)))?;
        if !detail.slow {
            let mut ring = open.maps_mut().find(|map| map.name() == "slow").ok_or_else(|| SET.abi("slow"))?;
            ring.set_max_entries(page_bytes() as u32).map_err(SET.step("shrink the ring of"))?;
        }
        let object = SET.load(open)?;
        holders::clear(&SET, &object)?;
        let mapping: Mapping<Shared> = SET.memory(&object)?;
        let shared = mapping.get();
        set_namespace(&shared.namespace.device, &shared.namespace.inode)?;
        shared.sums_from_rq.store(holders::sums_from_rq(), Relaxed);
        let mut watch = Self {
            object,
            mapping,
            links: BTreeMap::new(),
            directions: directions.to_vec(),
            samples: detail.samples,
            sees_sending,
            has_datagrams: false,
            follows_datagrams: false,
            follows_unix: detail.unix,
            places: Places::default(),
            _stamps: stamps,
        };
        watch.set_clock();
        [Direction::Rx, Direction::Tx].into_iter().for_each(|way| watch.set_slow(way, slow::NEVER));
        watch.set_slow_application(slow::NEVER);
        if detail.samples {
            watch.attach_programs()?;
        } else {
            watch.begin_sample()?;
        }
        Ok(watch)
    }

    /// Those that are wanted now, and are not attached.
    fn attach_programs(&mut self) -> Result<(), SetError> {
        let is_wanted = |name: &str| {
            (self.follows_datagrams || self.follows_unix || !name.starts_with(PREFIX_DATAGRAMS))
                && (self.follows_messages() || is_lasting(name))
        };
        let missing: Vec<String> = programs(&self.object)
            .filter(|name| is_wanted(name) && !self.links.contains_key(name.as_str()))
            .collect();
        for program in self.object.progs_mut() {
            let name = program.name().to_string_lossy().into_owned();
            if missing.contains(&name) {
                let link = program.attach().map_err(SET.step("attach"))?;
                self.links.insert(name, link);
            }
        }
        Ok(())
    }

    fn follows_messages(&self) -> bool {
        !self.samples || self.mapping.get().takes_new.load(Relaxed) != 0
    }

    /// Follows messages that come or are sent from now on.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn begin_sample(&mut self) -> Result<(), SetError> {
        self.mapping.get().takes_new.store(1, Relaxed);
        self.attach_programs()?;
        self.mapping.get().sample.store(monotonic_ns(), Relaxed);
        Ok(())
    }

    /// Follows no more messages than those that began in this sample before.
    pub fn take_no_more(&self) {
        self.mapping.get().takes_new.store(0, Relaxed);
    }

    /// Takes the programs of messages away from their hooks until the next sample.
    pub fn end_sample(&mut self) {
        self.take_no_more();
        self.mapping.get().sample.store(NO_SAMPLE, Relaxed);
        self.links.retain(|name, _| is_lasting(name));
    }

    /// Watches what comes by UDP too, from now on, if that was asked for. False where the kernel does not show it
    /// (Linux 6.3).
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn follow_datagrams(&mut self) -> Result<bool, SetError> {
        if !std::mem::replace(&mut self.has_datagrams, true) {
            self.mapping.get().port_is_udp.store(1, Relaxed);
            self.follows_datagrams = programs(&self.object).any(|name| name.starts_with(PREFIX_DATAGRAMS));
            self.attach_programs()?;
        }
        Ok(self.follows_datagrams)
    }

    /// Whether there are sockets of UDP: [`Self::follow_datagrams`] was called.
    pub fn has_datagrams(&self) -> bool {
        self.has_datagrams
    }

    /// Whether the calls that send by UDP are seen; otherwise their messages begin at the queue of the device. `None` while
    /// there are no sockets of UDP.
    pub fn sees_datagram_calls(&self) -> Option<bool> {
        let has_some = self.has_datagrams || self.mapping.get().datagrams.load(Relaxed) != 0;
        has_some.then(|| programs(&self.object).any(|name| call(&name).is_some()))
    }

    /// Whether the programs find a socket of UDP that a [watched process](Self::watch_process) opens, by its first call.
    pub fn finds_datagrams(&self) -> bool {
        !self.directions.contains(&Direction::Rx) || self.follows_datagrams || self.follows_unix
    }

    /// Whether what comes by UDP is watched.
    pub fn follows_datagrams(&self) -> bool {
        self.follows_datagrams
    }

    /// Watches a socket from now on, and those that it accepts if it listens. One that is watched stays as it is. Of one that
    /// was connected before, the caller may know that it `serves`: otherwise the kernel's counts of its bytes show which end
    /// it is.
    ///
    /// # Errors
    /// If the kernel has no memory for it (net.core.optmem_max), or has taken the socket away.
    pub fn mark(&self, socket: &impl AsFd, serves: bool) -> Result<(), SetError> {
        let role = if serves { SERVER } else { 0 };
        let of = |way| if way == Direction::Rx { role } else { 0 };
        self.directions.iter().try_for_each(|&way| self.mark_in(sockets(way), socket, of(way)))
    }

    /// Watches what this process connects or listens on from now on; of UDP and Unix, what it reads from or sends over.
    ///
    /// # Errors
    /// What the kernel refused, such as too many of them.
    pub fn watch_process(&self, pid: u32) -> Result<(), SetError> {
        let map = SET.map(&self.object, "processes")?;
        map.update(&pid.to_ne_bytes(), &0u32.to_ne_bytes(), MapFlags::ANY)
            .map_err(SET.step("name a process to"))
    }

    /// Follows the threads that this process makes from now on, so that what waits before their first read has times.
    pub fn follow_own_threads(&self) {
        self.mapping.get().maker.store(std::process::id().into(), Relaxed);
    }

    /// Its number may be another's from now on.
    pub fn forget_process(&self, pid: u32) {
        let _ = SET.map(&self.object, "processes").map(|map| map.delete(&pid.to_ne_bytes()));
    }

    /// The same of a socket of UDP.
    ///
    /// # Errors
    /// As [`Self::mark`], and what the kernel refused.
    pub fn mark_datagrams(&mut self, socket: &impl AsFd) -> Result<(), SetError> {
        if self.follow_datagrams()? {
            self.mark_in("datagrams", socket, 0)?;
        }
        if self.directions.contains(&Direction::Tx) {
            self.mark_in("outgoings", socket, 0)?;
        }
        // Last: where it fails, the caller counts the socket as not marked, and its messages are followed all the same.
        if self.directions.contains(&Direction::Rx) { self.mark_port(socket) } else { Ok(()) }
    }

    /// The same of a Unix socket, if that was asked for.
    ///
    /// # Errors
    /// As [`Self::mark`].
    pub fn mark_unix(&self, socket: &impl AsFd) -> Result<(), SetError> {
        if self.follows_unix { self.mark_in("datagrams", socket, 0) } else { Ok(()) }
    }

    /// Has datagrams for this port counted that are dropped before the kernel looks for their socket.
    fn mark_port(&self, socket: &impl AsFd) -> Result<(), SetError> {
        let found = netns_and_port(socket).map_err(libbpf_rs::Error::from);
        let (net, port) = found.map_err(SET.step("find out the port of a socket for"))?;
        if port == 0 {
            return Ok(());
        }
        let key = UdpPort { net, port: port.into() };
        let map = SET.map(&self.object, "ports")?;
        map.update(as_bytes(&key), &1u32.to_ne_bytes(), MapFlags::ANY).map_err(SET.step("name a port to"))
    }

    fn mark_in(&self, map: &'static str, socket: &impl AsFd, first: u32) -> Result<(), SetError> {
        let key = socket.as_fd().as_raw_fd().to_ne_bytes();
        let map = SET.map(&self.object, map)?;
        if map.lookup(&key, MapFlags::ANY).map_err(SET.step("ask"))?.is_none() {
            let mut value = vec![0; map.value_size() as usize];
            value[..size_of::<u32>()].copy_from_slice(&first.to_ne_bytes());
            match map.update(&key, &value, MapFlags::NO_EXIST) {
                // A program was faster.
                Err(e) if e.kind() == libbpf_rs::ErrorKind::AlreadyExists => {}
                marked => marked.map_err(SET.step("mark a socket for"))?,
            }
        }
        Ok(())
    }

    /// Reads the clocks that packets and programs have; to be called every second or so. Returns how far they moved
    /// against each other.
    pub fn set_clock(&self) -> i64 {
        let (ahead, shared) = (realtime_ahead_ns(), self.mapping.get());
        ahead - shared.realtime_ahead.swap(ahead, Relaxed)
    }

    /// Takes the programs away from their hooks; what they summed stays.
    pub fn detach(&mut self) {
        // For all of them at once.
        self.mapping.get().sample.store(NO_SAMPLE, Relaxed);
        self.links.clear();
    }

    /// What the programs took while the kernel counted it ([`crate::run_time::Counting`]).
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn run_time(&self) -> io::Result<RunTime> {
        run_time::of(&self.object)
    }

    /// The first process that read or sent since the last call, if there was one.
    pub fn reader(&self) -> Option<WatchedProcess> {
        let shared = self.mapping.get();
        // Acquire: its name was stored before it.
        let pid = Some(shared.process.load(Acquire)).filter(|pid| ![0, NAMING].contains(pid))?;
        let name = text(&shared.name.each_ref().map(|byte| byte.load(Relaxed)));
        // Release: its name has been read.
        shared.process.store(0, Release);
        (pid != holders::UNNUMBERED).then_some(WatchedProcess { pid, name })
    }
}

/// The names of those that are loaded.
fn programs(object: &Object) -> impl Iterator<Item = String> + '_ {
    let loaded = object.progs().filter(libbpf_rs::Program::autoload);
    loaded.map(|program| program.name().to_string_lossy().into_owned())
}

/// What does not change.
fn config(selection: Selection, directions: &[Direction], detail: Detail) -> Config {
    let watches = |way| u32::from(directions.contains(&way));
    let (port, flow) = match selection {
        Selection::Marked | Selection::All => (0, None),
        Selection::Port(port) => (port, None),
        Selection::Flow(local, peer) => (local.port(), Some((local, peer))),
    };
    let family = |peer: SocketAddr| if peer.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    Config {
        creates: (selection != Selection::Marked).into(),
        port: port.into(),
        peer_port: flow.map_or(0, |(_, peer)| peer.port().to_be().into()),
        family: flow.map_or(0, |(_, peer)| family(peer).cast_unsigned()),
        local: flow.map_or([0; 4], |(local, _)| words(local.ip())),
        peer: flow.map_or([0; 4], |(_, peer)| words(peer.ip())),
        receives: watches(Direction::Rx),
        sends: watches(Direction::Tx),
        // These name the process of a message that is sent.
        by_socket: (detail.by_socket || detail.slow).into(),
        keeps_slow: detail.slow.into(),
        samples: detail.samples.into(),
        follows_unix: detail.unix.into(),
        names_receivers: tracepoint::arguments(drops::HOOK).is_some_and(|n| n > drops::RECEIVER).into(),
        sees_calls: (directions.contains(&Direction::Tx) && CALLS.into_iter().all(function::has_hooks))
            .into(),
        serves: match selection {
            Selection::Marked | Selection::All => false,
            Selection::Port(_) => true,
            Selection::Flow(local, _) => listening_ports("self").contains(&local.port()),
        }
        .into(),
    }
}

/// As on the wire; of IPv4 the first.
fn words(address: IpAddr) -> [u32; 4] {
    let mut bytes = [0; 16];
    match address {
        IpAddr::V4(v4) => bytes[..4].copy_from_slice(&v4.octets()),
        IpAddr::V6(v6) => bytes = v6.octets(),
    }
    std::array::from_fn(|i| u32::from_ne_bytes([0, 1, 2, 3].map(|byte| bytes[4 * i + byte])))
}

/// While it is open, the kernel stamps packets.
fn stamps() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    enable_rx_stamps(&socket)?;
    Ok(socket)
}
