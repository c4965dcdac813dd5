//! Rules that packets pass in the calling thread's network namespace: how many there are.

use std::fs;
use std::io;
use std::mem::zeroed;

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_NETFILTER};

use crate::call::{c_text, socket};
use crate::socket::read_option;

/// linux/netfilter/nfnetlink.h and nf_tables.h: the subsystem is the upper byte of a message's type.
const NFTABLES: u16 = 10 << 8;
const NEW_RULE: u16 = NFTABLES | 6;
const GET_RULE: u16 = NFTABLES | 7;
/// linux/netlink.h
const ERROR: u16 = 2;
const DONE: u16 = 3;
const REQUEST_DUMP: u16 = 0x301;
const HEADER_BYTES: usize = 16;
/// The kernel fills at most 32 KiB at once.
const ANSWER_BYTES: usize = 64 * 1024;

/// Rules of nftables, those of iptables-nft included. A kernel that has nf_tables as a module loads it: ask only where
/// it is loaded.
///
/// # Errors
/// Without CAP_NET_ADMIN, or where the kernel has no nftables (`Unsupported`).
pub fn nftables_rules() -> io::Result<usize> {
    let socket = Socket::new(NETLINK_NETFILTER).map_err(unsupported)?;
    socket.connect(&SocketAddr::new(0, 0))?;
    // struct nlmsghdr, and struct nfgenmsg of all families.
    let mut request = Vec::with_capacity(HEADER_BYTES + 4);
    request.extend(((HEADER_BYTES + 4) as u32).to_ne_bytes());
    request.extend(GET_RULE.to_ne_bytes());
    request.extend(REQUEST_DUMP.to_ne_bytes());
    request.extend([0; 12]);
    socket.send(&request, 0)?;
    let mut rules = 0;
    loop {
        let mut answer = Vec::with_capacity(ANSWER_BYTES);
        socket.recv(&mut answer, 0)?;
        match counted(&answer)? {
            (found, true) => return Ok(rules + found),
            (found, false) => rules += found,
        }
    }
}

/// Rules in one answer, and whether it is the last.
fn counted(answer: &[u8]) -> io::Result<(usize, bool)> {
    let short = || io::Error::new(io::ErrorKind::InvalidData, "an answer of netfilter is cut off");
    let (mut rest, mut rules) = (answer, 0);
    while rest.len() >= HEADER_BYTES {
        let length = u32::from_ne_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
        let body = rest.get(HEADER_BYTES..length).ok_or_else(short)?;
        match u16::from_ne_bytes([rest[4], rest[5]]) {
            NEW_RULE => rules += 1,
            DONE => return Ok((rules, true)),
            ERROR => {
                let code = body.first_chunk().map(|&code| i32::from_ne_bytes(code)).ok_or_else(short)?;
                return Err(unsupported(io::Error::from_raw_os_error(-code)));
            }
            _ => {}
        }
        // Messages begin at multiples of four.
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok((rules, false))
}

/// What a kernel without nfnetlink, or without nftables in it, answers.
fn unsupported(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EPROTONOSUPPORT | libc::EINVAL | libc::EOPNOTSUPP) => {
            io::Error::new(io::ErrorKind::Unsupported, "this kernel has no nftables")
        }
        _ => error,
    }
}

/// Rules of the older iptables and ip6tables, the policies of their chains included.
///
/// # Errors
/// Without CAP_NET_ADMIN.
pub fn iptables_rules() -> io::Result<usize> {
    let families = [
        ("ip_tables_names", libc::AF_INET, libc::IPPROTO_IP),
        ("ip6_tables_names", libc::AF_INET6, libc::IPPROTO_IPV6),
    ];
    let mut rules = 0;
    for (names, family, level) in families {
        let tables = match fs::read_to_string(format!("/proc/thread-self/net/{names}")) {
            // The kernel has none of them.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        for table in tables.lines() {
            rules += entries(family, level, table)?;
        }
    }
    Ok(rules)
}

/// linux/netfilter_ipv4/ip_tables.h; that of IPv6 has the same numbers and members.
const SO_GET_INFO: libc::c_int = 64;

/// struct ipt_getinfo
#[repr(C)]
struct Info {
    name: [libc::c_char; 32],
    valid_hooks: u32,
    hook_entry: [u32; 5],
    underflow: [u32; 5],
    entries: u32,
    size: u32,
}

fn entries(family: libc::c_int, level: libc::c_int, table: &str) -> io::Result<usize> {
    let socket = socket(family, libc::SOCK_DGRAM)?;
    // SAFETY: it has only integers, and all-zero is valid for them.
    let mut info: Info = unsafe { zeroed() };
    info.name = c_text(table).ok_or(io::ErrorKind::InvalidInput)?;
    read_option(&socket, level, SO_GET_INFO, &mut info)?;
    // The last one says that the table ends.
    Ok((info.entries as usize).saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use netfathom_testkit::{needs, needs_root};

    use super::*;
    use crate::netns::Namespace;

    #[test]
    fn rules_are_counted_where_they_are() {
        needs_root!();
        let rules =
            "add table inet t; add chain inet t c; add rule inet t c counter; add rule inet t c accept";
        let filled = Namespace::create().unwrap();
        let made = filled.run(|| Command::new("nft").arg(rules).output()).unwrap();
        needs!(made.is_ok_and(|made| made.status.success()), "needs nft and a kernel with nf_tables");
        assert_eq!(filled.run(nftables_rules).unwrap().unwrap(), 2);
        assert_eq!(Namespace::create().unwrap().run(nftables_rules).unwrap().unwrap(), 0);
    }

    #[test]
    fn an_answer_that_is_cut_off_is_an_error() {
        let mut answer = 40_u32.to_ne_bytes().to_vec();
        answer.extend(NEW_RULE.to_ne_bytes());
        answer.extend([0; 14]);
        assert!(counted(&answer).is_err());
    }
}
