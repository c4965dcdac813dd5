//! The filter that the kernel runs on every packet of the device (classic BPF): what it
//! refuses costs no copy, and what is foreign never gets into the ring.

use std::io;
use std::os::fd::OwnedFd;

use libc::{
    BPF_ABS, BPF_B, BPF_H, BPF_IND, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_LDX, BPF_MSH, BPF_RET,
    BPF_W, sock_filter,
};

use super::{CaptureDirection, Options, Protocol};
use crate::socket::set_option;

/// Where a jump goes that refuses the packet, until the length of the program is known.
const REFUSE: u8 = u8::MAX;

// Where fields are, in bytes from the start of the Ethernet frame. VLAN tags are no part of
// it: the kernel keeps them beside the packet.
const ETHERTYPE: u32 = 12;
const IPV4: u32 = 14;
const IPV4_FRAGMENT: u32 = IPV4 + 6;
const IPV4_PROTOCOL: u32 = IPV4 + 9;
const IPV6_NEXT_HEADER: u32 = 14 + 6;
const IPV6_PAYLOAD: u32 = 14 + 40;
const TO_PORT: u32 = 2;

/// The bits of the place of a fragment: 0 in the first one, and in whole packets.
const FRAGMENT_PLACE: u32 = 0x1fff;

/// Gives the socket its filter, which also says how much of a packet is kept.
pub(super) fn attach(fd: &OwnedFd, options: &Options) -> io::Result<()> {
    let mut code = program(options);
    let program = libc::sock_fprog { len: code.len() as u16, filter: code.as_mut_ptr() };
    set_option(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

fn program(options: &Options) -> Vec<sock_filter> {
    let mut code = Vec::new();
    let outgoing = u32::from(libc::PACKET_OUTGOING);
    let way = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;
    match options.way {
        CaptureDirection::Out => code.extend([load(BPF_W, way), jump(BPF_JEQ, outgoing, 0, REFUSE)]),
        CaptureDirection::In => code.extend([load(BPF_W, way), jump(BPF_JEQ, outgoing, REFUSE, 0)]),
        CaptureDirection::Both => {}
    }
    let (six, four) = (ipv6(options), ipv4(options));
    code.push(load(BPF_H, ETHERTYPE));
    code.push(jump(BPF_JEQ, libc::ETH_P_IPV6 as u32, 0, six.len() as u8));
    code.extend(six);
    code.extend(four);
    let last = code.len();
    code.push(give(0));
    for (at, instruction) in code[..last].iter_mut().enumerate() {
        let to_last = (last - at - 1) as u8;
        for target in [&mut instruction.jt, &mut instruction.jf] {
            if *target == REFUSE {
                *target = to_last;
            }
        }
    }
    code
}

fn number(protocol: Protocol) -> u32 {
    match protocol {
        Protocol::Tcp => libc::IPPROTO_TCP as u32,
        Protocol::Udp => libc::IPPROTO_UDP as u32,
    }
}

fn ipv6(options: &Options) -> Vec<sock_filter> {
    let mut code = vec![load(BPF_B, IPV6_NEXT_HEADER), jump(BPF_JEQ, number(options.protocol), 0, REFUSE)];
    if let Some(port) = options.port {
        code.push(load(BPF_H, IPV6_PAYLOAD + TO_PORT));
        code.push(jump(BPF_JEQ, port.into(), 0, REFUSE));
    }
    code.push(give(options.snaplen));
    code
}

fn ipv4(options: &Options) -> Vec<sock_filter> {
    let mut code = vec![
        jump(BPF_JEQ, libc::ETH_P_IP as u32, 0, REFUSE),
        load(BPF_B, IPV4_PROTOCOL),
        jump(BPF_JEQ, number(options.protocol), 0, REFUSE),
        // Only the first fragment has ports, and a message is to be seen once.
        load(BPF_H, IPV4_FRAGMENT),
        jump(BPF_JSET, FRAGMENT_PLACE, REFUSE, 0),
    ];
    if let Some(port) = options.port {
        // The length of the IP header goes into the index register.
        code.push(instruction(BPF_LDX | BPF_MSH | BPF_B, IPV4));
        code.push(instruction(BPF_LD | BPF_IND | BPF_H, IPV4 + TO_PORT));
        code.push(jump(BPF_JEQ, port.into(), 0, REFUSE));
    }
    code.push(give(options.snaplen));
    code
}

fn load(width: u32, from: u32) -> sock_filter {
    instruction(BPF_LD | BPF_ABS | width, from)
}

fn give(bytes: u32) -> sock_filter {
    instruction(BPF_RET | BPF_K, bytes)
}

fn jump(test: u32, value: u32, if_so: u8, otherwise: u8) -> sock_filter {
    sock_filter { jt: if_so, jf: otherwise, ..instruction(BPF_JMP | BPF_K | test, value) }
}

fn instruction(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}
