use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;

use super::*;
use crate::socket::{get_option, set_option};

pub(crate) fn streams() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (sender, listener.accept().unwrap().0)
}

/// From now on the socket sees nothing that comes for it.
pub(crate) fn deafen(socket: &TcpStream) {
    let mut nothing = libc::sock_filter { code: 6, jt: 0, jf: 0, k: 0 };
    let program = libc::sock_fprog { len: 1, filter: &raw mut nothing };
    set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program).unwrap();
}

fn pair() -> (OwnedFd, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let socket = open(SocketKind::Stream, address).unwrap();
    connect(socket.as_fd(), address).unwrap();
    (socket, listener.accept().unwrap().0)
}

#[test]
fn what_is_discarded_is_counted_and_the_end_is_seen() {
    use std::io::Write;
    let (socket, mut peer) = pair();
    peer.write_all(&[7; 1000]).unwrap();
    assert!(readable(socket.as_fd(), Duration::from_secs(5)).unwrap());
    assert_eq!(discard(socket.as_fd(), 600).unwrap(), 600);
    assert_eq!(discard(socket.as_fd(), 600).unwrap(), 400);
    assert!(!readable(socket.as_fd(), Duration::from_millis(1)).unwrap());
    drop(peer);
    assert_eq!(discard(socket.as_fd(), 600).unwrap(), 0);
}

#[test]
fn what_comes_is_seen_and_left_and_so_is_the_end() {
    use std::io::Write;
    let (socket, mut peer) = pair();
    peer.write_all(&[7; 10]).unwrap();
    assert!(more_comes(socket.as_fd()).unwrap());
    assert_eq!(receive(socket.as_fd(), &mut [0; 20]).unwrap(), 10);
    drop(peer);
    assert!(!more_comes(socket.as_fd()).unwrap());
}

#[test]
fn polling_ends_with_what_comes_the_end_of_the_stream_or_its_time() {
    use std::io::Write;
    let (socket, mut peer) = pair();
    let poll = |most| receive_polling(socket.as_fd(), &mut [0; 20], most);
    assert_eq!(poll(Some(Duration::from_millis(1))).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    peer.write_all(&[7; 10]).unwrap();
    assert_eq!(poll(None).unwrap(), 10);
    drop(peer);
    assert_eq!(poll(None).unwrap(), 0);
}

#[test]
fn closing_cuts_the_connection_only_where_it_is_to() {
    for cut in [true, false] {
        let (socket, peer) = pair();
        cut_on_close(socket.as_fd(), cut).unwrap();
        drop(socket);
        let read = receive(peer.as_fd(), &mut [0; 8]);
        assert_eq!(read.is_err(), cut, "{read:?}");
    }
}

#[test]
fn a_buffer_is_granted_in_the_measure_it_was_asked_for() {
    let (socket, _peer) = pair();
    assert_eq!(set_buffer(socket.as_fd(), SocketBuffer::Send, 20_000).unwrap(), 20_000);
    assert_eq!(buffer_bytes(socket.as_fd(), SocketBuffer::Send).unwrap(), 40_000);
    assert!(set_buffer(socket.as_fd(), SocketBuffer::Receive, u32::MAX).unwrap() < i32::MAX.unsigned_abs());
}

#[test]
fn a_datagram_tells_its_whole_length_and_its_sender() {
    let any = "127.0.0.1:0".parse().unwrap();
    let ends = [(); 2].map(|()| open(SocketKind::Datagram, any).unwrap());
    ends.iter().for_each(|end| bind(end.as_fd(), any).unwrap());
    let [from, to] = ends.each_ref().map(|end| local_address(end.as_fd()).unwrap());
    connect(ends[0].as_fd(), to).unwrap();
    for length in [0, 1, 100] {
        assert_eq!(send(ends[0].as_fd(), &vec![1; length]).unwrap(), length);
        assert_eq!(receive_from(ends[1].as_fd(), &mut [0; 8]).unwrap(), (length, from));
    }
    set_receive_limit(ends[1].as_fd(), Duration::from_millis(10)).unwrap();
    let waited = receive_from(ends[1].as_fd(), &mut [0; 8]).unwrap_err();
    assert_eq!(waited.kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn a_refused_connect_is_an_error() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let socket = open(SocketKind::Stream, gone).unwrap();
    assert_eq!(connect(socket.as_fd(), gone).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
}

#[test]
fn keep_alive_options_have_the_given_interval() {
    let (socket, _peer) = pair();
    set_keep_alive(socket.as_fd(), Duration::from_secs(15)).unwrap();
    let read = |level, name| get_option::<i32>(&socket.as_fd(), level, name).unwrap();
    assert_eq!(read(libc::SOL_SOCKET, libc::SO_KEEPALIVE), 1);
    let times = [libc::TCP_KEEPIDLE, libc::TCP_KEEPINTVL, libc::TCP_KEEPCNT];
    assert_eq!(times.map(|name| read(libc::IPPROTO_TCP, name)), [15, 15, 4]);
}

#[test]
fn an_address_comes_back_as_it_was() {
    let back = |text: &str| decoded(Some(text.parse::<SocketAddr>().unwrap().into()));
    for text in ["127.0.0.1:5001", "[fe80::1%3]:9", "[::]:65535"] {
        assert_eq!(back(text).unwrap(), text.parse().unwrap());
    }
    assert_eq!(back("[::ffff:10.0.0.1]:7").unwrap(), "10.0.0.1:7".parse().unwrap());
    assert!(decoded(None).is_err());
}
