//! Sampled messages as a capture that Wireshark opens: a packet where the message passed the
//! link layer, with its stages as a comment.
//!
//! The packets begin with IP, since a sample does not tell hardware addresses. They are built
//! from what is known of a message, which is all of it but for fields of the IP header.

use std::io::{self, BufWriter, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use etherparse::{PacketBuilder, PacketBuilderStep, UdpHeader};
use netfathom_capture::packet::{LinkType, Packet, PacketDirection, Resolution};
use netfathom_capture::write::{InterfaceId, PcapngWriter};
use netfathom_model::message::Header;
use netfathom_model::path::{Direction, Stage};
use netfathom_model::record::{Record, Trial};
use netfathom_model::sample::{Sample, StageSpan};
use netfathom_sys::directory::Directory;

use crate::quantity::{Sampled, figures};
use crate::store::run_dir::replace;
use crate::store::{CAPTURE_FILE, WriteError};

/// What a UDP datagram holds: only a foreign record tells of larger messages.
const MOST_PAYLOAD_BYTES: usize = 65_527;
/// A router's hop, as a host sends it.
const HOP_LIMIT: u8 = 64;
/// Where this host does not know an end.
const UNKNOWN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// An end that this host does not know, of the family of the other one.
fn unknown(other: SocketAddr) -> SocketAddr {
    match other {
        SocketAddr::V4(_) => UNKNOWN,
        SocketAddr::V6(_) => SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0),
    }
}

/// Writes `samples.pcapng` into the directory of a run, of a measurement that samples messages.
///
/// # Errors
/// If the disk refuses; a file from before then stands unharmed.
pub fn write(run: &Directory, record: &Record, samples: &[Sample]) -> Result<(), WriteError> {
    let Some(of) = figures(&record.measurement).sampled() else { return Ok(()) };
    replace(run, CAPTURE_FILE, |file| Ok(capture(BufWriter::new(file), record, of, samples)?))
}

/// Writes the capture, in the order in which the packets passed.
pub(super) fn capture(
    out: impl Write,
    record: &Record,
    of: Sampled<'_>,
    samples: &[Sample],
) -> io::Result<()> {
    let mut file = PcapngWriter::new(out, &record.tool)?;
    let mut interface =
        |name: &str, hook: &str| file.interface(name, &format!("the link layer: {hook}"), LinkType::Raw, 0);
    let out = interface("way out", "net_dev_start_xmit")?;
    let into = interface("way in", "netif_receive_skb")?;
    let mut sightings: Vec<Sighting<'_>> = samples.iter().flat_map(Sighting::of).collect();
    sightings.sort_by_key(|s| s.at_ns);
    for sighting in sightings {
        let Some(trial) = of.trials.iter().find(|t| t.index == sighting.sample.trial) else { continue };
        let bytes = packet(trial, sighting.sample, of.size_bytes)?;
        let interface = if sighting.way == PacketDirection::Out { out } else { into };
        sighting.write(&mut file, interface, &bytes, record.environment.realtime_ahead_ns)?;
    }
    file.finish()?;
    Ok(())
}

/// A message where it passes the link layer.
struct Sighting<'a> {
    sample: &'a Sample,
    way: PacketDirection,
    /// CLOCK_MONOTONIC.
    at_ns: u64,
}

impl<'a> Sighting<'a> {
    /// Those of a sample: one on the way out, one on the way in, as far as it was seen.
    fn of(sample: &'a Sample) -> impl Iterator<Item = Self> {
        let at = [
            (PacketDirection::Out, sample.net_dev_start_xmit_ns),
            (PacketDirection::In, sample.netif_receive_skb_ns),
        ];
        at.into_iter().filter_map(move |(way, at)| Some(Self { sample, way, at_ns: at? }))
    }

    fn write<W: Write>(
        &self,
        file: &mut PcapngWriter<W>,
        interface: InterfaceId,
        bytes: &[u8],
        ahead_ns: i64,
    ) -> io::Result<()> {
        let today = i64::try_from(self.at_ns).ok().and_then(|ns| ns.checked_add(ahead_ns));
        let time_ns = today.ok_or_else(|| {
            io::Error::other(format!("a sampled message passed at {} ns, which is no valid time", self.at_ns))
        })?;
        let packet = Packet {
            time_ns,
            resolution: Resolution::NANOSECONDS,
            link: LinkType::Raw,
            way: Some(self.way),
            original_bytes: bytes.len() as u32,
            data: bytes,
        };
        file.packet(interface, &packet, &[&self.comment()])
    }

    fn comment(&self) -> String {
        let s = self.sample;
        let (way, direction, begin, end) = match self.way {
            PacketDirection::Out => ("way out", Direction::Tx, Some(s.sent_ns), Some(self.at_ns)),
            PacketDirection::In => ("way in", Direction::Rx, Some(self.at_ns), s.received_ns),
        };
        let span = |from: Option<u64>, to: Option<u64>| Some(to?.wrapping_sub(from?) as i64);
        let total = span(begin, end).map_or("not to its end".into(), |ns| format!("{ns} ns"));
        let is_late = direction == Direction::Tx && s.intended_ns != 0;
        let lag = is_late.then(|| s.sent_ns.wrapping_sub(s.intended_ns) as i64);
        let mut stages: Vec<String> = lag.map(|ns| format!("lag before it {ns} ns")).into_iter().collect();
        let spans = s.stages(direction);
        for &stage in direction.stages() {
            let of_stage = || spans.iter().filter(|span| span.stage == stage).map(StageSpan::ns);
            if of_stage().next().is_some() {
                let ns = of_stage().fold(0, i64::wrapping_add);
                stages.push(format!("{}{} {ns} ns", stage.name(), beyond(stage)));
            }
        }
        let (trial, sequence) = (u64::from(s.trial) + 1, s.sequence);
        format!("trial {trial}, message {sequence}, {way}: {total} ({})", stages.join(", "))
    }
}

fn beyond(stage: Stage) -> &'static str {
    match stage {
        Stage::Driver => " after it",
        Stage::Backlog => " before it",
        _ => "",
    }
}

/// A message as it was on the wire, from its IP header on.
fn packet(trial: &Trial, sample: &Sample, size: usize) -> io::Result<Vec<u8>> {
    // The senders of a trial take its messages in turns.
    let lane = sample.sequence as usize % trial.from.len().max(1);
    let to = trial.to.unwrap_or(UNKNOWN);
    let from = trial.from.get(lane).copied().unwrap_or(unknown(to));
    if size > MOST_PAYLOAD_BYTES {
        return Err(io::Error::other(format!("messages of {size} bytes do not fit into datagrams")));
    }
    let mut payload = vec![0; size.max(netfathom_model::message::HEADER_BYTES)];
    let Sample { sequence, intended_ns, sent_ns, .. } = *sample;
    Header { flow: trial.flow, sequence, intended_ns, sent_ns }.write(&mut payload);
    let udp = udp(from, to);
    let mut bytes = Vec::with_capacity(udp.size(payload.len()));
    udp.write(&mut bytes, &payload).map_err(io::Error::other)?;
    Ok(bytes)
}

fn udp(from: SocketAddr, to: SocketAddr) -> PacketBuilderStep<UdpHeader> {
    let ip = match (from.ip(), to.ip()) {
        (IpAddr::V6(from), IpAddr::V6(to)) => PacketBuilder::ipv6(from.octets(), to.octets(), HOP_LIMIT),
        (from, to) => PacketBuilder::ipv4(octets(from), octets(to), HOP_LIMIT),
    };
    ip.udp(from.port(), to.port())
}

fn octets(address: IpAddr) -> [u8; 4] {
    match address {
        IpAddr::V4(v4) => v4.octets(),
        IpAddr::V6(_) => [0; 4],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_comment_tells_the_stages_of_each_way() {
        let sample = Sample {
            trial: 2,
            sequence: 7,
            intended_ns: 900,
            sent_ns: 1000,
            net_dev_queue_ns: Some(1500),
            net_dev_start_xmit_ns: Some(1600),
            net_dev_xmit_ns: Some(2000),
            netif_receive_skb_ns: Some(2100),
            sk_data_ready_ns: Some(2300),
            sched_wakeup_ns: Some(2400),
            sched_switch_ns: Some(3000),
            receive_call_ns: Some(800),
            sock_recv_length_ns: Some(3500),
            received_ns: Some(3600),
            ..Sample::default()
        };
        let comments: Vec<String> = Sighting::of(&sample).map(|s| s.comment()).collect();
        assert_eq!(
            comments,
            [
                "trial 3, message 7, way out: 600 ns (lag before it 100 ns, socket 500 ns, device 100 ns, driver after it 400 ns)",
                "trial 3, message 7, way in: 1500 ns (protocol 200 ns, wakeup 100 ns, runqueue 600 ns, read 500 ns, return 100 ns)",
            ]
        );
    }
}
