//! Over the loopback device, each with sockets of its own. What user space wrote and read is the truth that
//! the kernel's counts are held against.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use netfathom_testkit::needs_root;

use super::*;
use crate::lab::await_that;

mod datagram;
mod driver;
mod ending;
mod post;
mod stream;

const ECHO: Work = Work::Echo { until: None };

fn bytes(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).unwrap()
}

fn attach(socket: &impl AsFd, work: Work, message_bytes: u32) -> KernelEnd {
    Programs::load(work, bytes(message_bytes)).unwrap().attach(socket.as_fd()).unwrap()
}

/// Two ends of a connection; reading gives up after a while.
fn tcp_pair() -> [TcpStream; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let server = listener.accept().unwrap().0;
    for end in [&client, &server] {
        end.set_nodelay(true).unwrap();
        end.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    }
    [client, server]
}

fn udp_pair() -> [UdpSocket; 2] {
    let ends = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    let address: [SocketAddr; 2] = [0, 1].map(|i| ends[i].local_addr().unwrap());
    ends[0].connect(address[1]).unwrap();
    ends[1].connect(address[0]).unwrap();
    ends.iter().for_each(|end| end.set_read_timeout(Some(Duration::from_secs(10))).unwrap());
    ends
}

/// Bytes that are not all alike.
fn pattern(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 31 + seed * 7 + i / 251) as u8).collect()
}

/// A bounce that is stopped at one end: the message that came last did not go back, and nothing comes any more.
fn comes_to_rest(near: &KernelEnd, far: &KernelEnd, message_bytes: u64) {
    assert!(await_that(|| near.messages() > 100));
    near.stop();
    assert!(await_that(|| near.report().bytes == near.report().returned_bytes + message_bytes));
    let at_rest = (near.messages(), far.messages());
    assert_eq!(at_rest.0, at_rest.1);
    thread::sleep(Duration::from_millis(20));
    assert_eq!((near.messages(), far.messages()), at_rest);
}

/// Every message has its interval, but for the first and those that came together with another.
fn adds_up(report: &EndReport) {
    assert_eq!(report.intervals.count() + report.together + 1, report.messages, "{report:?}");
    assert_eq!((report.refused, report.intervals.negative()), (0, 0), "{report:?}");
    let times = [report.first_ns, report.first_message_ns, report.last_message_ns, report.last_ns];
    assert!(times.is_sorted() && times[0].is_some(), "{times:?}");
}
