//! The sums of single sockets, and who has a place for them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::Ordering::{Relaxed, Release};

use libbpf_rs::{MapCore, MapFlags};
use netfathom_model::path::Direction;
use netfathom_model::record::{
    SocketWay, WatchProcesses, WatchSocket, WatchStage, WatchTimes, WatchedProcess, WatchedSum,
};
use netfathom_stats::Histogram;

use super::abi::copied::{self, SocketName, SocketSums};
use super::read::span;
use super::{SET, Watch};
use crate::mapping::{from_bytes, text};
use crate::set::SetError;

/// `log2` of the buckets an octave.
pub const SOCKET_GRAIN: u32 = 3;
/// In this place are the sums of all others.
const OTHERS: usize = 0;
/// As in abi.h. Those of single sockets come first, then those that sockets without one share, by name.
const SOCKETS: usize = 256;
/// Stands for the owner of a place that is being taken back.
const CLOSING: u64 = u64::MAX;
/// Looks without a message after which a socket loses its place; once all are taken, the fewer.
const IDLE_LOOKS: u32 = 30;
const IDLE_LOOKS_FULL: u32 = 2;
const AF_UNIX: u32 = 1;
const AF_INET: u32 = 2;

/// What user space knows of the places between two looks.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// By place: its owner, the messages at the last look, and how often they were the same.
    known: BTreeMap<usize, Known>,
    /// Those with an owner that was removed at the last look.
    closing: BTreeSet<usize>,
    /// The sums of sockets that lost their place, by process. Names of those that have one stand there, too, so that the
    /// order of names stays.
    gone: Vec<WatchProcesses>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    ticket: u64,
    messages: u64,
    idle: u32,
}

/// The sums of single sockets, and those of all others: together all messages that are timed.
#[derive(Clone, Debug)]
pub struct Sockets {
    pub each: Vec<WatchSocket>,
    pub others: WatchSocket,
    /// The same messages by the names of processes, in the order in which these had their first.
    pub processes: Vec<WatchProcesses>,
}

impl Watch {
    /// The sums of each socket that has a place. Takes the places of idle ones; to be called every second or so.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn sockets(&mut self) -> Result<Sockets, SetError> {
        let mut places = std::mem::take(&mut self.places);
        let read = self.read_places(&mut places);
        self.places = places;
        read
    }

    fn read_places(&self, places: &mut Places) -> Result<Sockets, SetError> {
        let shared = self.mapping.get();
        let mut each = Vec::new();
        let is_full = shared.full.load(Relaxed) != 0;
        for (place, owner) in shared.owners.iter().enumerate().take(SOCKETS).skip(1) {
            let ticket = owner.load(Relaxed);
            if ticket == 0 {
                // A program that found none while this was taken back may have stored that later.
                shared.full.store(0, Relaxed);
                continue;
            }
            let socket = self.socket(place, ticket)?;
            if places.closing.remove(&place) {
                WatchProcesses::add(&mut places.gone, &socket);
                self.clear(place)?;
                // Release: a program that takes the place by its compare-and-swap, which acquires, adds to zeros, and so do
                // those that find its ticket there: their additions depend on that.
                owner.store(0, Release);
                shared.full.store(0, Relaxed);
                continue;
            }
            if places.is_idle(place, &socket, if is_full { IDLE_LOOKS_FULL } else { IDLE_LOOKS }) {
                owner.store(CLOSING, Relaxed);
                places.closing.insert(place);
                places.known.remove(&place);
            }
            each.push(socket);
        }
        let (mut others, named) = (self.socket(OTHERS, 0)?, self.by_name()?);
        for socket in each.iter().chain(&named).filter(|socket| socket.messages() > 0) {
            WatchProcesses::of(&mut places.gone, socket.process.as_ref());
        }
        let mut processes = places.gone.clone();
        let all = each.iter().chain(&named).chain([&others]);
        all.for_each(|socket| WatchProcesses::add(&mut processes, socket));
        named.iter().for_each(|of| others.add(of));
        places.gone.iter().for_each(|of| others.add(&of.sockets));
        Ok(Sockets { each, others, processes })
    }

    /// What sockets without a place share, those of each name.
    fn by_name(&self) -> Result<Vec<WatchSocket>, SetError> {
        let owners = self.mapping.get().owners.iter().enumerate().skip(SOCKETS);
        owners.filter(|(_, owner)| owner.load(Relaxed) != 0).map(|(place, _)| self.socket(place, 0)).collect()
    }

    fn socket(&self, place: usize, ticket: u64) -> Result<WatchSocket, SetError> {
        let key = (place as u32).to_ne_bytes();
        let bytes = SET.map(&self.object, "sockets")?.lookup(&key, MapFlags::ANY).map_err(SET.step("ask"))?;
        let sums: Option<SocketSums> = bytes.and_then(|bytes| from_bytes(&bytes));
        Ok(socket(&sums.ok_or_else(|| SET.abi("sockets"))?, ticket, &self.directions))
    }

    /// The programs no longer add to it: user space removed its owner at the last reading.
    fn clear(&self, place: usize) -> Result<(), SetError> {
        let map = SET.map(&self.object, "sockets")?;
        let nothing = vec![0; map.value_size() as usize];
        map.update(&(place as u32).to_ne_bytes(), &nothing, MapFlags::ANY).map_err(SET.step("clear"))
    }
}

impl Places {
    fn is_idle(&mut self, place: usize, socket: &WatchSocket, most: u32) -> bool {
        let messages = socket.messages();
        let fresh = Known { ticket: socket.id, messages, idle: 0 };
        let known = self.known.entry(place).or_insert(fresh);
        let is_same = known.ticket == socket.id && known.messages == messages;
        *known = Known { idle: if is_same { known.idle + 1 } else { 0 }, ..fresh };
        known.idle > most
    }
}

impl SocketName {
    pub(super) fn local(&self) -> Option<String> {
        (self.family != 0).then(|| self.at(&self.local, self.local_port))
    }

    pub(super) fn peer(&self) -> Option<String> {
        (self.peer_port != 0).then(|| self.at(&self.peer, self.peer_port))
    }

    fn at(&self, address: &[u32; 4], port: u32) -> String {
        if self.family == AF_UNIX {
            return "unix".into();
        }
        SocketAddr::new(ip(address, self.family), port as u16).to_string()
    }

    pub(super) fn process(&self) -> Option<WatchedProcess> {
        (self.process != 0).then(|| WatchedProcess { pid: self.process, name: text(&self.name) })
    }
}

fn socket(sums: &SocketSums, id: u64, directions: &[Direction]) -> WatchSocket {
    let way = |direction, way: &copied::SocketWay| {
        if directions.contains(&direction) {
            of_way(way, &sums.spans, direction)
        } else {
            SocketWay::default()
        }
    };
    WatchSocket {
        id,
        local: sums.of.local(),
        peer: sums.of.peer(),
        process: sums.of.process(),
        receive: way(Direction::Rx, &sums.receive),
        send: way(Direction::Tx, &sums.send),
    }
}

fn ip(words: &[u32; 4], family: u32) -> IpAddr {
    if family == AF_INET {
        return Ipv4Addr::from(words[0].to_ne_bytes()).into();
    }
    let mut bytes = [0; 16];
    bytes.chunks_exact_mut(4).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_ne_bytes()));
    Ipv6Addr::from(bytes).to_canonical()
}

fn of_way(way: &copied::SocketWay, spans: &[i64], direction: Direction) -> SocketWay {
    let mut histogram = Histogram::new(SOCKET_GRAIN);
    histogram.add_negative(way.negative);
    for (index, &count) in way.buckets.iter().enumerate().filter(|&(_, &count)| count > 0) {
        histogram.add_bucket(index, count);
    }
    let sum = |&stage: &WatchStage| WatchedSum { stage, sum_ns: spans[span(stage)] };
    let stages = WatchStage::of(direction).iter().map(sum).filter(|sum| sum.sum_ns != 0).collect();
    SocketWay { total: WatchTimes::new(&histogram, way.sum), stages }
}
