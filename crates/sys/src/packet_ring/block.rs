//! Blocks that the kernel is done with, and the packets in them.

use std::marker::PhantomData;
use std::mem::offset_of;
use std::ptr::NonNull;

use super::memory::Memory;

/// Where the address of a packet lies behind its header: the next multiple of 16 (TPACKET_ALIGN).
const ADDRESS: usize = size_of::<libc::tpacket3_hdr>().next_multiple_of(16);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// When: CLOCK_REALTIME, nanoseconds since 1970.
    pub time_ns: u64,
    /// Its length on the wire, link-layer header included; that of all segments together where
    /// the device cuts it up.
    pub original_bytes: u32,
    /// The part of it that was kept, from the link-layer header on.
    pub data: &'a [u8],
    pub outgoing: bool,
    /// Whether the time is one that the packet had before it came to the ring, because
    /// somebody on this host had asked for time stamps.
    pub stamped_before: bool,
}

/// Packets that are ours to read; they go back to the kernel when this value is dropped.
pub struct Block<'a> {
    memory: &'a Memory,
    number: usize,
    header: libc::tpacket_hdr_v1,
}

impl<'a> Block<'a> {
    /// The block of this number, if the kernel is done with it. The caller, who has the ring
    /// to itself, takes each block once only.
    pub(super) fn take(memory: &'a Memory, number: usize) -> Option<Self> {
        if !memory.is_ours(number) {
            return None;
        }
        // SAFETY: the block begins with this header, aligned like a page; the block is ours,
        // so the kernel writes nothing of it until it is given back. Any bytes are integers.
        let header = unsafe {
            let at = offset_of!(libc::tpacket_block_desc, hdr);
            memory.block(number).add(at).cast::<libc::tpacket_hdr_v1>().read()
        };
        Some(Self { memory, number, header })
    }

    pub fn packets(&self) -> u32 {
        self.header.num_pkts
    }
}

impl Drop for Block<'_> {
    fn drop(&mut self) {
        self.memory.give_back(self.number);
    }
}

impl<'a> IntoIterator for &'a Block<'_> {
    type Item = Packet<'a>;
    type IntoIter = PacketsOf<'a>;

    /// Its packets, in the order in which they came.
    fn into_iter(self) -> PacketsOf<'a> {
        PacketsOf {
            block: self.memory.block(self.number),
            bytes: self.memory.block_bytes(),
            at: self.header.offset_to_first_pkt as usize,
            left: self.header.num_pkts,
            lives: PhantomData,
        }
    }
}

/// The packets of a block, one after the other.
pub struct PacketsOf<'a> {
    block: NonNull<u8>,
    bytes: usize,
    /// Where the next packet is, in bytes from the start of the block.
    at: usize,
    left: u32,
    lives: PhantomData<&'a [u8]>,
}

impl PacketsOf<'_> {
    /// Where `bytes` bytes from `at` on begin.
    fn within(&self, at: usize, bytes: usize) -> NonNull<u8> {
        let end = at.checked_add(bytes);
        assert!(end.is_some_and(|end| end <= self.bytes), "a packet outside its block");
        // SAFETY: within the block, by the assertion.
        unsafe { self.block.add(at) }
    }
}

impl<'a> Iterator for PacketsOf<'a> {
    type Item = Packet<'a>;

    #[inline]
    fn next(&mut self) -> Option<Packet<'a>> {
        self.left = self.left.checked_sub(1)?;
        let at = self.at;
        let start = self.within(at, ADDRESS + size_of::<libc::sockaddr_ll>());
        // SAFETY: header and address of a packet lie there, within the block, which is ours
        // for `'a`; they are made of integers, for which any bytes are a value. The kernel
        // aligns packets to 8 bytes, which is not relied on.
        let (header, kind) = unsafe {
            let kind = start.add(ADDRESS + offset_of!(libc::sockaddr_ll, sll_pkttype));
            (start.cast::<libc::tpacket3_hdr>().read_unaligned(), kind.read())
        };
        self.at += header.tp_next_offset as usize;
        let kept = header.tp_snaplen as usize;
        let data = self.within(at + usize::from(header.tp_mac), kept);
        // SAFETY: within the block, which is initialized memory and ours for `'a`.
        let data = unsafe { std::slice::from_raw_parts(data.as_ptr(), kept) };
        Some(Packet {
            time_ns: u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec),
            original_bytes: header.tp_len,
            data,
            outgoing: kind == libc::PACKET_OUTGOING,
            stamped_before: header.tp_status & libc::TP_STATUS_TS_SOFTWARE != 0,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}
