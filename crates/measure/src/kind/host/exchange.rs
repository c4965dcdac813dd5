//! One datagram from one end to the other: whether messages cross.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

/// It takes microseconds; a busy machine may need more.
const PATIENCE: Duration = Duration::from_millis(500);

pub(super) fn bind(address: IpAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(SocketAddr::new(address, 0))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket)
}

/// Sends a datagram and reads it at the other end.
pub(super) fn exchange(sender: &UdpSocket, reader: &UdpSocket) -> io::Result<()> {
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
