//! What leaves, as tcpdump sees it.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{io, thread};

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use netfathom_model::message::Header;
use netfathom_sys::netns::Namespace;
use netfathom_testkit::{DEVICE, Killed};

/// A capture that runs; ends with this value.
pub struct Capture {
    child: Killed,
    reader: Option<thread::JoinHandle<io::Result<Vec<u8>>>>,
}

/// A message that was captured.
#[derive(Debug)]
pub struct Captured {
    pub header: Header,
    pub checksums_are_right: bool,
}

impl Capture {
    /// Begins to capture UDP to a port at a host's device; returns once it does.
    pub fn begin(host: &Namespace, port: u16) -> io::Result<Self> {
        let start = || {
            Command::new("tcpdump")
                .args(format!("-i {DEVICE} -n -U -B 65536 -w - udp dst port {port}").split(' '))
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
        };
        let mut child = Killed(host.run(start).map_err(io::Error::other)??);
        let mut out = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let reader = thread::spawn(move || {
            let mut pcap = Vec::new();
            out.read_to_end(&mut pcap).map(|_| pcap)
        });
        child.await_line(&["listening on"])?;
        Ok(Self { child, reader: Some(reader) })
    }

    /// Loses what is still on its way through the packet ring: see [`arrive`].
    pub fn end(mut self) -> io::Result<Vec<Captured>> {
        Command::new("kill").args(["-INT", &self.child.id().to_string()]).status()?;
        self.child.wait()?;
        let pcap = self.reader.take().map(|r| r.join().map_err(|_| io::ErrorKind::Other)).transpose()?;
        Ok(messages(&pcap.transpose()?.unwrap_or_default()))
    }
}

/// Waits until each capture has what is still on its way through its packet ring.
pub fn arrive() {
    thread::sleep(Duration::from_millis(1200));
}

/// The messages in a capture: a header of 24 bytes, and one of 16 before each packet; its third word is
/// the packet's length.
fn messages(pcap: &[u8]) -> Vec<Captured> {
    let mut rest = pcap.get(24..).unwrap_or_default();
    let mut messages = Vec::new();
    while let Some((head, tail)) = rest.split_at_checked(16) {
        let length = u32::from_ne_bytes([head[8], head[9], head[10], head[11]]) as usize;
        let Some((frame, next)) = tail.split_at_checked(length) else { break };
        messages.extend(message(frame));
        rest = next;
    }
    messages
}

fn message(frame: &[u8]) -> Option<Captured> {
    let packet = SlicedPacket::from_ethernet(frame).ok()?;
    let Some(TransportSlice::Udp(udp)) = packet.transport else { return None };
    let Some(NetSlice::Ipv4(ip)) = packet.net else { return None };
    let header = ip.header();
    let udp_sum =
        udp.to_header().calc_checksum_ipv4_raw(header.source(), header.destination(), udp.payload()).ok()?;
    let checksums_are_right =
        udp.checksum() == udp_sum && header.header_checksum() == header.to_header().calc_header_checksum();
    Some(Captured { header: Header::read(udp.payload())?, checksums_are_right })
}
