//! What the kernel knows of the connections that carried a trial's messages: bytes, whatever segments they went in.

use std::net::UdpSocket;
use std::os::fd::AsFd;

use netfathom_model::accounting::CounterCheck;
use netfathom_sys::tcp_info::{self, TcpInfo};

use crate::ground::error::GroundError;

/// Both ends of each connection, and what was known of them before.
pub struct Streamed<'a> {
    senders: Vec<(&'a UdpSocket, TcpInfo)>,
    readers: Vec<(&'a UdpSocket, TcpInfo)>,
}

fn read(socket: &UdpSocket) -> Result<TcpInfo, GroundError> {
    tcp_info::read(socket.as_fd()).map_err(GroundError::Socket)
}

impl<'a> Streamed<'a> {
    /// Before the first message.
    pub fn begin(
        senders: impl IntoIterator<Item = &'a UdpSocket>,
        readers: impl IntoIterator<Item = &'a UdpSocket>,
    ) -> Result<Self, GroundError> {
        let known = |socket| Ok((socket, read(socket)?));
        Ok(Self {
            senders: senders.into_iter().map(known).collect::<Result<_, GroundError>>()?,
            readers: readers.into_iter().map(known).collect::<Result<_, GroundError>>()?,
        })
    }

    /// After the last: the kernel's counts beside what they should be, and the segments that were sent again.
    pub fn end(&self, sent_bytes: u64, read_bytes: u64) -> Result<(Vec<CounterCheck>, u64), GroundError> {
        let sum = |ends: &[(&UdpSocket, TcpInfo)], of: fn(&TcpInfo) -> Option<u64>| {
            let since = |(socket, before): &(&UdpSocket, TcpInfo)| {
                Ok(of(&read(socket)?).zip(of(before)).map(|(now, before)| now - before))
            };
            ends.iter().map(since).sum::<Result<Option<u64>, GroundError>>()
        };
        let check = |counter: &str, expected, observed: Option<u64>| {
            observed.map(|observed| CounterCheck {
                counter: counter.into(),
                expected,
                observed,
                shared: false,
            })
        };
        let acknowledged = sum(&self.senders, |info| info.acknowledged_bytes)?;
        let received = sum(&self.readers, |info| info.received_bytes)?;
        let again = sum(&self.senders, |info| Some(info.retransmits.into()))?;
        let checks = [
            check("sender: TCP bytes acknowledged", sent_bytes, acknowledged),
            check("reader: TCP bytes received", read_bytes, received),
        ];
        Ok((checks.into_iter().flatten().collect(), again.unwrap_or(0)))
    }
}
