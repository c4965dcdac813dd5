//! SO_TIMESTAMPING: times that the kernel gives to each packet of a socket.
//! CLOCK_REALTIME, software only. See Documentation/networking/timestamping.rst.

use std::io;
use std::mem::zeroed;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::ptr;

use super::set_option;
use crate::call::{CONTROL_BYTES, Control, control, counted, extended_error, receive_message};

const SO_TIMESTAMPING: i32 = 37;
const SCM_TIMESTAMPING: i32 = SO_TIMESTAMPING;
const TX_SOFTWARE: u32 = 1 << 1;
const RX_SOFTWARE: u32 = 1 << 3;
const SOFTWARE: u32 = 1 << 4;
const OPT_ID: u32 = 1 << 7;
const TX_SCHED: u32 = 1 << 8;
const OPT_CMSG: u32 = 1 << 10;
const OPT_TSONLY: u32 = 1 << 11;
const OPT_ID_TCP: u32 = 1 << 16;

const BATCH: usize = 8;

/// Where the kernel took a stamp on the way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampKind {
    /// Before the queueing discipline.
    Sched,
    /// In the driver, before the packet goes out.
    Software,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxStamp {
    /// The number of the send call since the stamps were enabled, of TCP that of its last byte, modulo 2^32.
    pub number: u32,
    pub kind: StampKind,
    /// CLOCK_REALTIME, ns.
    pub realtime_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    pub bytes: usize,
    /// When the kernel took the packet in, CLOCK_REALTIME ns; `None` without a stamp.
    pub realtime_ns: Option<u64>,
}

/// Asks for stamps of what the socket sends; read them through a [`TxStampQueue`].
///
/// With `sched` there are two a message: the one before the queueing discipline costs time
/// on the way to the one in the driver.
pub fn enable_tx_stamps(socket: &UdpSocket, sched: bool) -> io::Result<()> {
    let kinds = if sched { TX_SCHED | TX_SOFTWARE } else { TX_SOFTWARE };
    // Since Linux 6.2: else it counts from what was acknowledged.
    let of_stream = if super::is_tcp(socket) { OPT_ID_TCP } else { 0 };
    let flags = kinds | SOFTWARE | OPT_ID | OPT_TSONLY | OPT_CMSG | of_stream;
    set_option(socket, libc::SOL_SOCKET, SO_TIMESTAMPING, &flags)
}

/// Asks for stamps of what the socket receives; [`receive`] returns them.
///
/// Where no other socket of the machine wants stamps, the kernel begins to take them a
/// little later, from a worker (net_enable_timestamp): the first messages may have none.
pub fn enable_rx_stamps(socket: &UdpSocket) -> io::Result<()> {
    set_option(socket, libc::SOL_SOCKET, SO_TIMESTAMPING, &(RX_SOFTWARE | SOFTWARE))
}

/// Receives one message with its stamp, as [`super::receive_whole`] does.
pub fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<Received> {
    receive_message(socket, buffer, libc::MSG_WAITALL, |bytes, message| Received {
        bytes,
        realtime_ns: realtime_ns(message),
    })
}

fn realtime_ns(message: &libc::msghdr) -> Option<u64> {
    // The kernel writes three times; the first is the software stamp.
    let time: libc::timespec = control(message, &[(libc::SOL_SOCKET, SCM_TIMESTAMPING)])?;
    Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64).filter(|&ns| ns != 0)
}

/// The buffers to read stamps of sent messages with, several at a time.
pub struct TxStampQueue {
    controls: Box<[Control; BATCH]>,
    messages: Box<[libc::mmsghdr; BATCH]>,
}

// SAFETY: the pointers in `messages` lead only into `controls`, which moves along with
// them since both are boxed.
unsafe impl Send for TxStampQueue {}

impl Default for TxStampQueue {
    fn default() -> Self {
        Self {
            controls: Box::new([Control([0; CONTROL_BYTES]); BATCH]),
            // SAFETY: all-zero is a message header without buffers.
            messages: Box::new(unsafe { zeroed() }),
        }
    }
}

impl TxStampQueue {
    /// Hands every stamp that is there to `each`. Never blocks.
    ///
    /// # Errors
    /// Those of recvmmsg(2), except that there is nothing.
    pub fn drain(&mut self, socket: &UdpSocket, mut each: impl FnMut(TxStamp)) -> io::Result<usize> {
        let mut total = 0;
        loop {
            let n = self.read(socket)?;
            for message in &self.messages[..n] {
                if let Some(stamp) = tx_stamp(&message.msg_hdr) {
                    each(stamp);
                    total += 1;
                }
            }
            if n < BATCH {
                return Ok(total);
            }
        }
    }

    fn read(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        for (message, control) in self.messages.iter_mut().zip(self.controls.iter_mut()) {
            message.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = CONTROL_BYTES as _;
        }
        // SAFETY: every header points to a control buffer of its own, with its length,
        // and to no payload, which OPT_TSONLY leaves out.
        let n = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.messages.as_mut_ptr(),
                BATCH as u32,
                libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT,
                ptr::null_mut(),
            )
        };
        match counted(n as isize) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(0),
            read => read,
        }
    }
}

fn tx_stamp(message: &libc::msghdr) -> Option<TxStamp> {
    const SCM_TSTAMP_SND: u32 = 0;
    const SCM_TSTAMP_SCHED: u32 = 1;
    let error = extended_error(message).filter(|e| e.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING)?;
    let kind = match error.ee_info {
        SCM_TSTAMP_SND => StampKind::Software,
        SCM_TSTAMP_SCHED => StampKind::Sched,
        _ => return None,
    };
    Some(TxStamp { number: error.ee_data, kind, realtime_ns: realtime_ns(message)? })
}

#[cfg(test)]
mod tests {
    use super::super::tests::pair_at;
    use super::*;
    use crate::clock::{monotonic_ns, realtime_ahead_ns};

    fn stamps_of(bind: &str) {
        let (sender, reader) = pair_at(bind).unwrap();
        enable_tx_stamps(&sender, true).unwrap();
        enable_rx_stamps(&reader).unwrap();
        // Receive stamps begin a little later, from a kernel worker.
        std::thread::sleep(std::time::Duration::from_millis(200));
        let ahead = realtime_ahead_ns();
        let mut queue = TxStampQueue::default();
        for number in 0..20 {
            let before = monotonic_ns() as i64 + ahead;
            sender.send(&[7; 64]).unwrap();
            let mut stamps = Vec::new();
            queue.drain(&sender, |s| stamps.push(s)).unwrap();
            let got = receive(&reader, &mut [0; 64]).unwrap();
            let after = monotonic_ns() as i64 + ahead;
            assert_eq!(
                stamps.iter().map(|s| (s.number, s.kind)).collect::<Vec<_>>(),
                [(number, StampKind::Sched), (number, StampKind::Software)]
            );
            let times = [stamps[0].realtime_ns, stamps[1].realtime_ns, got.realtime_ns.unwrap()];
            // The bracket of the offset is good to well under 10 us.
            assert!(times.iter().all(|&t| (before - 10_000..after + 10_000).contains(&(t as i64))));
            assert_eq!(got.bytes, 64);
        }
    }

    #[test]
    fn every_message_gets_its_stamps_over_ipv4() {
        stamps_of("127.0.0.1:0");
    }

    #[test]
    fn every_message_gets_its_stamps_over_ipv6() {
        stamps_of("[::1]:0");
    }

    #[test]
    fn an_empty_queue_is_no_error() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(TxStampQueue::default().drain(&socket, |_| ()).unwrap(), 0);
    }
}
