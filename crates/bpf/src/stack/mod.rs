//! The bpf tap of `netfathom stack`: the time of each message at each hook.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use libbpf_rs::{Link, Object};
use netfathom_model::path::{Direction, Stage};
use netfathom_model::plan::Transport;
use netfathom_stats::{Distribution, Histogram, Moments, Windowed};

use crate::drop_reason;
use crate::load;
use crate::mapping::Plain;
use crate::set::{Set, SetError};
pub use crate::sums::GRAIN;
use crate::sums::add_buckets;

mod hooks;
mod order;
mod shared;
#[cfg(test)]
mod tests;
mod view;

crate::mapping::abi!("stack");

use abi::copied::{CpuState, PartSums, PartWindows, SpanSums, SpanWindows, TxSums, TxWindows};
use hooks::Chosen;
pub use hooks::{Hooks, Replaced};
use shared::Mapping;
pub use shared::WINDOWS;
pub use view::{Idle, Moment, Reception, RxStamps, TxStamps, View};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stack.bpf.o"));
const SET: Set = Set { name: "the kernel programs", object: OBJECT, shares_clock: true };

/// The hooks that join, and their places among what was lost.
const JOIN_HOOKS: [(&str, u32); shared::JOINS] = [
    ("qdisc_enqueue", abi::JOIN_QDISC_ENQUEUE),
    ("qdisc_dequeue", abi::JOIN_QDISC_DEQUEUE),
    ("net_dev_start_xmit", abi::JOIN_NET_DEV_START_XMIT),
    ("sk_data_ready", abi::JOIN_SK_DATA_READY),
    ("sock_recv_length", abi::JOIN_SOCK_RECV_LENGTH),
    ("net_dev_queue", abi::JOIN_NET_DEV_QUEUE),
];

#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The trial's flow, as the messages carry it.
    pub flow: u32,
    /// SO_COOKIE of the reader's socket.
    pub reader_cookie: u64,
    /// Windows of time are `2^window_shift` ns long.
    pub window_shift: u32,
    /// The connection, where messages go over TCP.
    pub stream: Option<Stream>,
}

/// A connection that carries messages of one size.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// SO_COOKIE of the sender's socket.
    pub sender_cookie: u64,
    pub sender: SocketAddr,
    pub reader: SocketAddr,
    /// The sequence number of the first message's first byte.
    pub first: u32,
    pub message_bytes: u64,
}

impl Stream {
    /// No connection: to find out whether the programs load.
    pub const NONE: Self = {
        let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        Self { sender_cookie: 0, sender: nowhere, reader: nowhere, first: 0, message_bytes: 0 }
    };
}

impl Target {
    fn transport(&self) -> Transport {
        if self.stream.is_some() { Transport::Tcp } else { Transport::Udp }
    }
}

/// The last four bytes of an address, as they are on the wire.
fn last_word(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(v4) => u32::from_ne_bytes(v4.octets()),
        IpAddr::V6(v6) => {
            let [.., a, b, c, d] = v6.octets();
            u32::from_ne_bytes([a, b, c, d])
        }
    }
}

/// Loaded and attached programs; dropping them detaches everything.
pub struct StackTap {
    object: Object,
    links: Vec<Link>,
    mapping: Arc<Mapping>,
    at: Hooks,
    replaced: Vec<Replaced>,
}

impl StackTap {
    /// Loads and attaches the programs of the directions.
    ///
    /// # Errors
    /// What the kernel refused. Needs CAP_BPF and CAP_PERFMON, and BTF.
    pub fn load(at: Hooks, directions: &[Direction], target: Target) -> Result<Self, SetError> {
        let Chosen { programs, replaced, .. } = hooks::choose(at, target.transport(), directions);
        let is_wanted = |name: &str| programs.iter().any(|wanted| wanted == name);
        let object = SET.load(SET.open(is_wanted)?)?;
        let mapping = Arc::new(SET.memory(&object)?);
        let mut tap = Self { object, links: Vec::new(), mapping, at, replaced };
        tap.aim(target)?;
        Ok(tap)
    }

    /// Begins anew with another target, after [`Self::detach`]: much faster than loading. Views of before must be gone.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn again(&mut self, target: Target) -> Result<(), SetError> {
        self.detach();
        load::clear(&self.object).map_err(SET.step("clear"))?;
        self.aim(target)
    }

    fn aim(&mut self, target: Target) -> Result<(), SetError> {
        let shared = self.mapping.get();
        shared.flow_be.store(target.flow.to_be(), Relaxed);
        shared.reader_cookie.store(target.reader_cookie, Relaxed);
        shared.window_shift.store(target.window_shift, Relaxed);
        shared.follows_reader.store(u64::from(self.at.follow_reader()), Relaxed);
        if let Some(stream) = target.stream {
            let to = &shared.stream;
            let ports = u32::from(stream.sender.port()) << 16 | u32::from(stream.reader.port());
            to.sender_cookie.store(stream.sender_cookie, Relaxed);
            to.ports.store(ports.to_be(), Relaxed);
            to.from.store(last_word(stream.sender.ip()), Relaxed);
            to.to.store(last_word(stream.reader.ip()), Relaxed);
            to.first.store(stream.first, Relaxed);
            to.message_bytes.store(stream.message_bytes, Relaxed);
        }
        self.attach()
    }

    /// The hooks that this kernel lacks.
    pub fn replaced(&self) -> &[Replaced] {
        &self.replaced
    }

    /// Attaches the programs again after [`Self::detach`]. It takes some milliseconds.
    pub fn attach(&mut self) -> Result<(), SetError> {
        self.links = attached(&self.object)?;
        Ok(())
    }

    /// Takes the programs away from their hooks; what they summed stays.
    pub fn detach(&mut self) {
        self.links.clear();
    }

    pub fn programs(&self) -> usize {
        self.links.len()
    }

    /// Says when the trial starts, CLOCK_MONOTONIC; windows of time count from here.
    pub fn start(&self, start_ns: u64) {
        self.mapping.get().start_ns.store(start_ns, Relaxed);
    }

    /// A view of each message's times, for the reader's thread.
    pub fn view(&self) -> View {
        View::new(Arc::clone(&self.mapping), self.at)
    }

    /// What the kernel summed of the way out: stack time, then each stage.
    pub fn tx_sums(&self) -> Result<TxResult, SetError> {
        let whole = (self.per_cpu::<TxSums>("tx_sums")?, self.per_cpu::<TxWindows>("tx_windows")?);
        let parts = (self.per_cpu::<PartSums>("part_sums")?, self.per_cpu::<PartWindows>("part_windows")?);
        macro_rules! span {
            ($of:ident.$span:ident) => {
                merge_span($of.0.iter().map(|sums| &sums.$span), $of.1.iter().map(|windows| &windows.$span))
            };
        }
        let stages = vec![
            (Stage::Socket, span!(whole.socket)),
            (Stage::Qdisc, span!(whole.qdisc)),
            (Stage::Device, span!(whole.device)),
            (Stage::Driver, span!(whole.driver)),
            (Stage::Send, span!(parts.send)),
            (Stage::Output, span!(parts.output)),
            (Stage::Sendq, span!(parts.sendq)),
        ];
        Ok(TxResult { total: span!(whole.total), stages })
    }

    /// Packets of ours that the kernel dropped, by the kernel's own names.
    pub fn drops(&self) -> Result<BTreeMap<String, u64>, SetError> {
        let names = drop_reason::names();
        let mut drops = BTreeMap::new();
        for cpu in self.per_cpu::<CpuState>("cpu_states")? {
            for (reason, &count) in cpu.drops.iter().enumerate().filter(|&(_, &count)| count > 0) {
                let other = || {
                    if reason + 1 == shared::REASONS {
                        "other subsystem".into()
                    } else if names.is_empty() {
                        "no reason given (needs Linux 5.17)".into()
                    } else {
                        format!("reason {reason}")
                    }
                };
                let name = names.get(&(reason as u32)).cloned().unwrap_or_else(other);
                *drops.entry(name).or_default() += count;
            }
        }
        Ok(drops)
    }

    /// Messages that a hook saw and could not join, by hook; of `sched_switch` the switches of the reader that it did not
    /// see, and that its times do not need.
    pub fn lost(&self) -> Result<BTreeMap<&'static str, u64>, SetError> {
        let used = |hook| self.replaced.iter().find(|r| r.hook == hook).map_or(hook, Replaced::at);
        let hooks = JOIN_HOOKS.map(|(hook, place)| (used(hook), place as usize));
        let unseen = self.mapping.get().reader.unseen.load(Relaxed);
        let mut lost: BTreeMap<_, _> =
            hooks.iter().map(|&(hook, _)| (hook, 0)).chain([("sched_switch", unseen)]).collect();
        for cpu in self.per_cpu::<CpuState>("cpu_states")? {
            for (hook, place) in hooks {
                *lost.entry(hook).or_default() += cpu.lost[place];
            }
        }
        Ok(lost)
    }

    fn per_cpu<T: Plain>(&self, name: &'static str) -> Result<Vec<T>, SetError> {
        SET.per_cpu(&self.object, name, 0)
    }
}

fn attached(object: &Object) -> Result<Vec<Link>, SetError> {
    let links = object.progs_mut().filter(|p| p.autoload()).map(|p| p.attach());
    links.collect::<Result<_, _>>().map_err(SET.step("attach"))
}

/// The way out, as summed in the kernel.
#[derive(Clone, Debug)]
pub struct TxResult {
    /// Application to link layer.
    pub total: Windowed,
    pub stages: Vec<(Stage, Windowed)>,
}

fn merge_span<'a>(
    sums: impl Iterator<Item = &'a SpanSums>,
    windows: impl Iterator<Item = &'a SpanWindows>,
) -> Windowed {
    let mut merged = vec![Moments::default(); WINDOWS];
    for cpu in windows {
        for (window, of_cpu) in merged.iter_mut().zip(&cpu.n) {
            window.merge(&Moments::from(of_cpu));
        }
    }
    let mut histogram = Histogram::new(GRAIN);
    for cpu in sums {
        add_buckets(&mut histogram, cpu.negative, &cpu.buckets);
    }
    let mut moments = Moments::default();
    merged.iter().for_each(|w| moments.merge(w));
    Windowed { distribution: Distribution { moments, histogram }, windows: merged }
}
