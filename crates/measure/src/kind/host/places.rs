//! Where the two ends of a measurement can stand: a datagram crosses, or the reason why not.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use netfathom_model::host::HostRow;
use netfathom_model::plan::Family;
use netfathom_sys::link::ipv6_available;
use netfathom_sys::netns::Namespace;

use super::reason::{is_denied, plain};
use super::{missing, works};
use crate::ground::lab::{Lab, LabError};

const FAMILIES: [Family; 2] = [Family::Ipv4, Family::Ipv6];
const LAB: &str = "two network namespaces joined by a veth pair";
const LOOPBACK: &str = "both ends on this host's own lo; needs no privilege";
const FIREWALL: &str = "look for a firewall rule that drops it: nft list ruleset";
const IPV6_OFF: &str = "boot without ipv6.disable=1, or measure over IPv4";
/// A datagram takes microseconds; a busy machine may need more.
const PATIENCE: Duration = Duration::from_millis(500);

pub(super) fn rows(lab: &Result<Lab, LabError>) -> Vec<HostRow> {
    let in_lab = FAMILIES.map(|family| match lab {
        Ok(lab) => lab_row(lab, family),
        Err(e) => missing(&lab_name(family), LAB, no_lab_reason(e), no_lab_remedy(e)),
    });
    in_lab.into_iter().chain(FAMILIES.map(loopback_row)).collect()
}

pub(super) fn lab_name(family: Family) -> String {
    format!("lab, {}", name(family))
}

fn name(family: Family) -> &'static str {
    match family {
        Family::Ipv4 => "IPv4",
        Family::Ipv6 => "IPv6",
    }
}

pub(super) fn no_lab_reason(error: &LabError) -> String {
    match error {
        LabError::Namespace(e) => format!("cannot {}: {}", e.action, plain(&e.source)),
        LabError::Link(e) => format!("cannot {}: {}", e.action, plain(&e.source)),
        LabError::Setup(_) => error.to_string(),
    }
}

fn no_lab_remedy(error: &LabError) -> String {
    let (text, source) = match error {
        LabError::Namespace(e) => (e.to_string(), &e.source),
        LabError::Link(e) => (e.to_string(), &e.source),
        LabError::Setup(_) => return "correct the command of --setup".into(),
    };
    if is_denied(source) {
        return "run as root (CAP_SYS_ADMIN and CAP_NET_ADMIN), or measure with --loopback".into();
    }
    // What the error itself advises, where it does.
    let advice = text.split_once("; ").map(|(_, advice)| plain(&advice));
    advice.unwrap_or_else(|| "measure with --loopback".into())
}

fn lab_row(lab: &Lab, family: Family) -> HostRow {
    let name = lab_name(family);
    if !lab.supports(family) {
        return missing(&name, LAB, "the kernel runs without IPv6", IPV6_OFF);
    }
    match cross_lab(lab, family) {
        Ok(()) => works(&name, LAB),
        Err(e) => missing(&name, LAB, plain(&e), FIREWALL),
    }
}

fn cross_lab(lab: &Lab, family: Family) -> io::Result<()> {
    let socket = |namespace: &Namespace, address| namespace.run(|| bind(address)).map_err(|e| e.source)?;
    let sender = socket(&lab.sender, lab.sender_addr(family))?;
    let reader = socket(&lab.reader, lab.reader_addr(family))?;
    exchange(&sender, &reader)
}

fn loopback_row(family: Family) -> HostRow {
    let label = format!("loopback, {}", name(family));
    let address: IpAddr = match family {
        Family::Ipv4 => Ipv4Addr::LOCALHOST.into(),
        Family::Ipv6 => Ipv6Addr::LOCALHOST.into(),
    };
    let cross = || exchange(&bind(address)?, &bind(address)?);
    match cross() {
        Ok(()) => works(&label, LOOPBACK),
        Err(e) if family == Family::Ipv6 && !ipv6_available() => {
            missing(&label, LOOPBACK, plain(&e), IPV6_OFF)
        }
        Err(e) if e.kind() == io::ErrorKind::AddrNotAvailable => {
            missing(&label, LOOPBACK, plain(&e), "give lo its addresses: ip link set lo up")
        }
        Err(e) => missing(&label, LOOPBACK, plain(&e), FIREWALL),
    }
}

pub(super) fn bind(address: IpAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(SocketAddr::new(address, 0))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket)
}

/// Sends a datagram and reads it at the other end.
fn exchange(sender: &UdpSocket, reader: &UdpSocket) -> io::Result<()> {
    const WORD: &[u8; 8] = b"netfatho";
    sender.connect(reader.local_addr()?)?;
    sender.send(WORD)?;
    let mut heard = [0; 16];
    let count = reader.recv(&mut heard).map_err(|e| match e.kind() {
        io::ErrorKind::WouldBlock => io::Error::new(io::ErrorKind::TimedOut, "no datagram arrives"),
        _ => e,
    })?;
    if heard[..count] == *WORD {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "another datagram arrives"))
}
