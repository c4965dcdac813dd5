//! The sockets of one trial, on this host and at the far end.

use std::net::{SocketAddr, UdpSocket};

use netfathom_model::plan::{ReversePlan, Variant};
use netfathom_sys::socket::{set_hop_limit, set_receive_buffer};

use crate::ground::error::GroundError;
use crate::ground::lab::{Lab, Role};
use crate::ground::rig::{Rig, warm_up};
use crate::load::error::FlightError;

/// Room for about 10,000 small messages, where somebody reads.
const READ_BYTES: i32 = 8 << 20;
/// The smallest buffer that the kernel grants, for a socket without a reader: it is full from the
/// beginning, so every message of the trial is dropped at the same place.
const UNREAD_BYTES: i32 = 4096;

pub struct Sockets {
    /// Sends the load; connected to the far end.
    pub sender: UdpSocket,
    /// Where the load goes. Held even without a reader: a closed port would answer by ICMP.
    _far: UdpSocket,
    /// Where messages come in on this host: a socket of its own, or the sender's.
    pub inbound: UdpSocket,
    /// Sends them, from the far end; in an echo it is the socket that gets the load, connected to the sender.
    pub generator: UdpSocket,
}

impl Sockets {
    /// New sockets, with the path between them warmed up.
    pub fn open(rig: &Rig, lab: &Lab, plan: &ReversePlan, variant: Variant) -> Result<Self, FlightError> {
        let far = rig.reader_socket(0)?;
        let sender = rig.sender_socket(address(&far)?)?;
        warm_up(&sender, &far)?;
        if variant == Variant::Echo {
            set_receive_buffer(&sender, READ_BYTES).map_err(GroundError::Socket)?;
            far.connect(address(&sender)?).map_err(GroundError::Socket)?;
            set_hop_limit(&far, 1).map_err(GroundError::Socket)?;
            let [inbound, generator] = [&sender, &far].map(|s| s.try_clone().map_err(GroundError::Socket));
            return Ok(Self { inbound: inbound?, generator: generator?, sender, _far: far });
        }
        set_receive_buffer(&far, UNREAD_BYTES).map_err(GroundError::Socket)?;
        let inbound = bound(rig, Role::Sender, SocketAddr::new(lab.sender_addr(plan.family), 0))?;
        let generator = bound(rig, Role::Reader, SocketAddr::new(lab.reader_addr(plan.family), 0))?;
        generator.connect(address(&inbound)?).map_err(GroundError::Socket)?;
        set_hop_limit(&generator, 1).map_err(GroundError::Socket)?;
        warm_up(&generator, &inbound)?;
        let bytes = if variant == Variant::Ignored { UNREAD_BYTES } else { READ_BYTES };
        set_receive_buffer(&inbound, bytes).map_err(GroundError::Socket)?;
        Ok(Self { sender, _far: far, inbound, generator })
    }
}

fn address(socket: &UdpSocket) -> Result<SocketAddr, GroundError> {
    socket.local_addr().map_err(GroundError::Socket)
}

fn bound(rig: &Rig, role: Role, address: SocketAddr) -> Result<UdpSocket, GroundError> {
    rig.at(role, || UdpSocket::bind(address))?.map_err(|source| GroundError::Bind { address, source })
}
