//! The taps, each tried as a measurement uses it.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_bpf::stack::Hooks;
use netfathom_model::host::HostRow;
use netfathom_model::path::Direction;
use netfathom_model::plan::Transport;
use netfathom_sys::socket::{StampKind, TxStampQueue, enable_rx_stamps, enable_tx_stamps, receive};

use super::places::bind;
use super::reason::plain;
use super::{limited, missing, works};
use crate::tap::probe;

/// The name of the row of the bpf tap.
pub(super) const BPF: &str = "bpf";
const FEWER: &str = "tracepoint programs: stages of both directions, summed in the kernel";
/// The name of the row of the timestamping tap.
pub(super) const TIMESTAMPING: &str = "timestamping";

/// The name of the row of the pcap tap.
const PCAP: &str = "pcap";

/// The kernel begins to take receive stamps some time after they were asked for.
const STAMPS_BEGIN: Duration = Duration::from_millis(500);

/// Loads and attaches the programs of `netfathom stack`.
pub(super) fn bpf() -> HostRow {
    let detail = "tracepoint programs: every stage, both directions, summed in the kernel";
    match probe::bpf(Hooks::Tracepoints, Transport::Udp, &[Direction::Tx, Direction::Rx]) {
        Ok(replaced) => match replaced.iter().find(|hook| !hook.stages().is_empty()).map(probe::without) {
            None => works(BPF, detail),
            Some(without) => {
                limited(BPF, FEWER, format!("no {}: {}", without.what, without.reason), without.remedy)
            }
        },
        Err(left_out) => missing(BPF, detail, plain(&left_out.reason), left_out.remedy),
    }
}

/// Opens a packet ring at the loopback device.
pub(super) fn pcap() -> HostRow {
    let detail = "packets captured at the device and joined with the log: one time each way";
    match probe::pcap(false, false) {
        Ok(()) => works(PCAP, detail),
        Err(left_out) => missing(PCAP, detail, plain(&left_out.reason), left_out.remedy),
    }
}

/// Stamps of a message over the loopback device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stamps {
    sched: bool,
    software: bool,
    received: bool,
}

/// Sends messages over the loopback device until one has all its stamps.
pub(super) fn timestamping() -> HostRow {
    let detail = "SO_TIMESTAMPING: link-layer times out and in, without privilege";
    match try_stamps() {
        Ok(stamps) => judge(stamps, detail),
        Err(e) => missing(
            TIMESTAMPING,
            detail,
            plain(&e),
            "use a kernel with CONFIG_NET and software time stamps, outside of a sandbox that filters them",
        ),
    }
}

fn judge(stamps: Stamps, detail: &str) -> HostRow {
    let absent: Vec<&str> = [
        (stamps.sched, "before the queueing discipline"),
        (stamps.software, "in the driver on the way out"),
        (stamps.received, "on the way in"),
    ]
    .into_iter()
    .filter_map(|(there, name)| (!there).then_some(name))
    .collect();
    let reason = format!("no stamp {}", absent.join(", nor "));
    let remedy = "use a driver and a kernel with software time stamps: ethtool -T DEVICE";
    match absent.len() {
        0 => works(TIMESTAMPING, detail),
        3 => missing(TIMESTAMPING, detail, reason, remedy),
        _ => limited(TIMESTAMPING, detail, reason, remedy),
    }
}

fn try_stamps() -> io::Result<Stamps> {
    let (sender, reader) = (bind(Ipv4Addr::LOCALHOST.into())?, bind(Ipv4Addr::LOCALHOST.into())?);
    sender.connect(reader.local_addr()?)?;
    enable_tx_stamps(&sender, true)?;
    enable_rx_stamps(&reader)?;
    let deadline = Instant::now() + STAMPS_BEGIN;
    loop {
        let stamps = stamps_of_one(&sender, &reader)?;
        if stamps.received || Instant::now() >= deadline {
            return Ok(stamps);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn stamps_of_one(sender: &UdpSocket, reader: &UdpSocket) -> io::Result<Stamps> {
    sender.send(&[0; 64])?;
    let received = receive(reader, &mut [0; 64])?.realtime_ns.is_some();
    let mut stamps = Stamps { received, ..Stamps::default() };
    TxStampQueue::default().drain(sender, |stamp| match stamp.kind {
        StampKind::Sched => stamps.sched = true,
        StampKind::Software => stamps.software = true,
    })?;
    Ok(stamps)
}

#[cfg(test)]
mod tests {
    use netfathom_model::host::HostStatus;

    use super::*;

    #[test]
    fn absent_stamps_are_named() {
        let all = Stamps { sched: true, software: true, received: true };
        assert_eq!(judge(all, "").status, HostStatus::Works);
        let limited = judge(Stamps { received: false, ..all }, "");
        assert_eq!(limited.status.shortcoming().unwrap().0, "no stamp on the way in");
        assert_eq!(judge(Stamps::default(), "").status.name(), "missing");
    }
}
