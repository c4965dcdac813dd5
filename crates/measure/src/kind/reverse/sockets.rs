//! The sockets of one trial, on this host and at the far end, where that is on this machine.

use std::net::{SocketAddr, UdpSocket};

use netfathom_model::plan::{ReversePlan, Transport, Variant};
use netfathom_sys::socket::{set_hop_limit, set_receive_buffer};

use super::error::ReverseError;
use super::hosts::Host;
use super::protocol::Trial;
use super::trial::cloned;
use crate::ground::error::GroundError;
use crate::ground::lab::{Lab, Role};
use crate::ground::rig::{Rig, warm_up};
use crate::load::error::FlightError;

/// Room for about 10,000 small messages, where somebody reads.
pub const READ_BYTES: i32 = 8 << 20;
/// The smallest buffer that the kernel grants, for a socket without a reader: it is full from the
/// beginning, so every message of the trial is dropped at the same place.
pub const UNREAD_BYTES: i32 = 4096;

pub struct Sockets {
    /// Sends the load; connected to the far end.
    pub sender: UdpSocket,
    /// Where messages come in on this host: a socket of its own, or the sender's.
    pub inbound: UdpSocket,
    /// Those of the far end, if it is on this machine.
    pub far: Option<FarSockets>,
}

pub struct FarSockets {
    /// Where the load goes. Held even without a reader: a closed port would answer by ICMP.
    _far: UdpSocket,
    /// Sends messages in; in an echo it is the socket that gets the load, connected to the sender.
    pub generator: UdpSocket,
}

impl Sockets {
    /// New sockets in the lab, with the path between them warmed up.
    pub fn in_lab(rig: &Rig, lab: &Lab, plan: &ReversePlan, variant: Variant) -> Result<Self, FlightError> {
        let far = rig.reader_socket(0)?;
        let sender = rig.sender_socket(address(&far)?)?;
        warm_up(&sender, &far, Transport::Udp)?;
        if variant == Variant::Echo {
            set_receive_buffer(&sender, READ_BYTES).map_err(GroundError::Socket)?;
            far.connect(address(&sender)?).map_err(GroundError::Socket)?;
            set_hop_limit(&far, 1).map_err(GroundError::Socket)?;
            let [inbound, generator] = [&sender, &far].map(|s| s.try_clone().map_err(GroundError::Socket));
            let far = Some(FarSockets { _far: far, generator: generator? });
            return Ok(Self { inbound: inbound?, sender, far });
        }
        set_receive_buffer(&far, UNREAD_BYTES).map_err(GroundError::Socket)?;
        let inbound = bound(rig, Role::Sender, SocketAddr::new(lab.sender_addr(plan.family), 0))?;
        let generator = bound(rig, Role::Reader, SocketAddr::new(lab.reader_addr(plan.family), 0))?;
        generator.connect(address(&inbound)?).map_err(GroundError::Socket)?;
        set_hop_limit(&generator, 1).map_err(GroundError::Socket)?;
        warm_up(&generator, &inbound, Transport::Udp)?;
        set_receive_buffer(&inbound, room(variant)).map_err(GroundError::Socket)?;
        Ok(Self { sender, inbound, far: Some(FarSockets { _far: far, generator }) })
    }

    /// New sockets of this host, the first of these hosts taking the load, each having met ours.
    pub fn between(rig: &Rig, hosts: &[Host<'_>], trials: &[Trial]) -> Result<Self, ReverseError> {
        let Some((first, trial)) = hosts.first().zip(trials.first()) else {
            return Err(GroundError::NothingCrosses.into());
        };
        let sender = rig.sender_socket(first.to)?;
        let echo = trial.variant == Variant::Echo;
        let inbound = match echo {
            true => cloned(&sender)?,
            false => bound(rig, Role::Sender, own_address(rig, first, hosts)?)?,
        };
        for (host, trial) in hosts.iter().zip(trials) {
            let from = host.meet(trial, &sender, &inbound)?;
            // Strangers' datagrams would take room in it.
            if hosts.len() == 1 && !echo {
                inbound.connect(from).map_err(GroundError::Socket)?;
            }
        }
        set_receive_buffer(&inbound, room(trial.variant)).map_err(GroundError::Socket)?;
        Ok(Self { sender, inbound, far: None })
    }
}

/// The address that all hosts know this one by, so that nothing comes in that is for another; any port of it.
fn own_address(rig: &Rig, first: &Host<'_>, hosts: &[Host<'_>]) -> Result<SocketAddr, GroundError> {
    let at = first.local_addr()?;
    for host in hosts {
        if host.local_addr()?.ip() != at.ip() {
            return Ok(rig.any_port(first.to));
        }
    }
    Ok(any_port(at))
}

/// With its scope, if it has one.
pub fn any_port(mut address: SocketAddr) -> SocketAddr {
    address.set_port(0);
    address
}

fn room(variant: Variant) -> i32 {
    if variant == Variant::Ignored { UNREAD_BYTES } else { READ_BYTES }
}

fn address(socket: &UdpSocket) -> Result<SocketAddr, GroundError> {
    socket.local_addr().map_err(GroundError::Socket)
}

fn bound(rig: &Rig, role: Role, address: SocketAddr) -> Result<UdpSocket, GroundError> {
    rig.at(role, || UdpSocket::bind(address))?.map_err(|source| GroundError::Bind { address, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of this link alone needs it.
    #[test]
    fn another_port_is_on_the_same_link() {
        let address: SocketAddr = "[fe80::1%3]:9000".parse().unwrap();
        assert_eq!(any_port(address), "[fe80::1%3]:0".parse().unwrap());
    }
}
