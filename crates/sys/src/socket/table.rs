//! The kernel's tables of sockets: `/proc/PID/net`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};

/// Whether this network namespace has a socket of UDP with this local port.
pub fn is_udp_port(port: u16) -> bool {
    !inodes_at("thread-self", "udp", port).is_empty()
}

/// The inodes of the TCP sockets of this network namespace with this local port; 0 stands for those of no process.
pub fn tcp_inodes(port: u16) -> BTreeSet<u64> {
    inodes_at("thread-self", "tcp", port)
}

/// The inodes of the TCP sockets that are connected to this port, in the network namespace of a process as `/proc` names it.
pub fn tcp_clients(process: &str, port: u16) -> BTreeSet<u64> {
    let there = format!(":{port:04X}");
    inodes(process, "tcp", |words| words[1].ends_with(&there))
}

/// The inodes of the sockets of TCP and UDP with this local port, in the network namespace of a process as `/proc` names it.
pub fn local_inodes(process: &str, port: u16) -> BTreeSet<u64> {
    ["tcp", "udp"].into_iter().flat_map(|protocol| inodes_at(process, protocol, port)).collect()
}

fn inodes_at(process: &str, protocol: &str, port: u16) -> BTreeSet<u64> {
    let here = format!(":{port:04X}");
    inodes(process, protocol, |words| words[0].ends_with(&here))
}

/// The inodes of the UDP sockets with messages that wait, in the network namespace of a process as `/proc` names it.
pub fn unread_udp(process: &str) -> BTreeSet<u64> {
    inodes(process, "udp", |words| !words[3].ends_with(":00000000"))
}

/// Of the sockets with such words: addresses, state, the bytes to send and to read, and four others before the inode.
fn inodes(process: &str, protocol: &str, is_meant: impl Fn(&[&str]) -> bool) -> BTreeSet<u64> {
    let inode = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().skip(1).collect();
        words.get(8).filter(|_| is_meant(&words))?.parse().ok()
    };
    let table =
        |of: &str| fs::read_to_string(format!("/proc/{process}/net/{protocol}{of}")).unwrap_or_default();
    ["", "6"].into_iter().flat_map(|of| table(of).lines().filter_map(inode).collect::<Vec<_>>()).collect()
}

/// The ports on which TCP listens, in the network namespace of a process as `/proc` names it. The kernel lists those that
/// listen before connections, which may be many.
pub fn listening_ports(process: &str) -> BTreeSet<u16> {
    const LISTENS: &str = "0A";
    let port = |line: String| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (at, state) = (words.next()?, words.nth(1)?);
        (state == LISTENS).then(|| u16::from_str_radix(at.rsplit(':').next()?, 16).ok())?
    };
    let tables =
        ["tcp", "tcp6"].into_iter().filter_map(|of| File::open(format!("/proc/{process}/net/{of}")).ok());
    tables
        .flat_map(|table| BufReader::new(table).lines().skip(1).map_while(Result::ok).map_while(port))
        .collect()
}

/// The inodes of the Unix sockets in the network namespace of a process.
pub fn unix_inodes(pid: u32) -> BTreeSet<u64> {
    let table = fs::read_to_string(format!("/proc/{pid}/net/unix")).unwrap_or_default();
    table.lines().filter_map(|line| line.split_ascii_whitespace().nth(6)?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::super::tests::pair;
    use super::*;

    #[test]
    fn a_socket_is_unread_until_its_message_is_read() {
        let (sender, reader) = pair();
        let own = crate::process::sockets(std::process::id()).unwrap();
        let (inode, _) = own.into_iter().find(|of| of.1 == reader.as_raw_fd()).unwrap();
        let is_unread = || unread_udp("thread-self").contains(&inode);
        assert!(!is_unread());
        sender.send(&[7]).unwrap();
        reader.peek(&mut [0]).unwrap();
        assert!(is_unread());
        reader.recv(&mut [0]).unwrap();
        assert!(!is_unread());
    }
}
