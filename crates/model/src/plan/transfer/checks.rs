//! What a plan of a transfer cannot be.

use super::{MARK_BYTES, Role, TransferPlan, Transport};
use crate::plan::{MS, PlanError, S, conflict, range, span};

/// A send call of more would be cut by the kernel at two gigabytes (MAX_RW_COUNT).
const MOST_BUFFER_BYTES: u64 = 1 << 30;
/// What fits into a UDP datagram over IPv6; over IPv4 it is 20 less, which the kernel tells.
const MOST_DATAGRAM_BYTES: u64 = 65_527;
/// Larger than the largest page there is.
const MOST_ALIGN: u64 = 1 << 30;
/// Each takes a thread and a buffer.
const MOST_STREAMS: u64 = 1024;
/// Times up to here.
const A_DAY: (u64, u64) = (MS, 86_400 * S);

impl TransferPlan {
    /// Checks what the types do not.
    ///
    /// # Errors
    /// The first thing that is wrong, with what would be right.
    pub fn validated(self) -> Result<Self, PlanError> {
        range("buffer-size", self.buffer_bytes, 1, MOST_BUFFER_BYTES)?;
        range("port", self.port.into(), 1, u16::MAX.into())?;
        range("count", self.buffers, 1, u64::MAX / self.buffer_bytes)?;
        let buffer = |bytes: u32| range("socket-buffer", bytes.into(), 1, 1 << 30);
        self.socket_buffer_bytes.map_or(Ok(()), buffer)?;
        span("idle", self.idle_ns, A_DAY)?;
        self.buffer_place()?;
        self.ends()?;
        self.streams()?;
        self.watched()?;
        if self.protocol == Transport::Udp {
            self.datagrams()?;
        }
        Ok(self)
    }

    fn buffer_place(&self) -> Result<(), PlanError> {
        let (align, offset) = (self.align, self.offset);
        range("align", align, 0, MOST_ALIGN)?;
        if align != 0 && !align.is_power_of_two() {
            let below = align.next_power_of_two() / 2;
            return conflict(format!(
                "--align {align}: a buffer is aligned to a power of two: choose {below} or {}, or 0 to leave it where \
                 it is",
                below * 2
            ));
        }
        if offset > 0 && offset >= align {
            return conflict(format!(
                "--offset {offset}: the buffer begins that far behind a multiple of --align, which is {align}: choose \
                 less than that"
            ));
        }
        Ok(())
    }

    fn ends(&self) -> Result<(), PlanError> {
        if self.role == Role::Transmit && self.host.is_none() {
            return conflict("--transmit needs the host that receives: netfathom ttcp -t HOST");
        }
        if let Some(ns) = self.time_ns {
            span("time", ns, A_DAY)?;
            if self.role == Role::Receive || !self.generated {
                return conflict(
                    "--time is for a transmitter that makes its data up: add --transmit and --source-sink",
                );
            }
        }
        if self.role == Role::Transmit && self.discard {
            return conflict("--discard is for the receiver: give it with -r");
        }
        let sees = self.touch || self.checksum || self.protocol == Transport::Udp;
        // --zero-copy with these has its own error.
        if self.discard && (!self.generated || (sees && !self.zero_copy)) {
            return conflict(
                "--discard leaves the data in the kernel: it needs --source-sink and TCP, and cannot --touch or --checksum",
            );
        }
        Ok(())
    }

    fn streams(&self) -> Result<(), PlanError> {
        range("parallel", self.streams.into(), 1, MOST_STREAMS)?;
        if self.streams > 1 && !self.generated {
            return conflict(
                "--parallel: standard input and output are one stream each: add --source-sink, or leave it out",
            );
        }
        let Some(service) = &self.serve else { return Ok(()) };
        range("max-clients", service.most_clients.into(), 1, MOST_STREAMS)?;
        range("max-bytes", service.most_bytes.unwrap_or(1), 1, u64::MAX)?;
        span("timeout", service.timeout_ns, A_DAY)?;
        if self.role == Role::Transmit {
            return conflict("--serve is for the receiver: give it with -r");
        }
        if !self.generated {
            return conflict(
                "--serve: several senders cannot share standard output: add --source-sink to throw the data away",
            );
        }
        if self.explain || self.cost {
            let flag = if self.explain { "explain" } else { "cost" };
            return conflict(format!(
                "--{flag} is for one transfer: a service has many, and waits between them: leave --serve out"
            ));
        }
        if self.streams > 1 {
            return conflict(
                "--parallel: a receiver that serves takes any number of streams: leave it out, --max-clients is the limit",
            );
        }
        Ok(())
    }

    fn watched(&self) -> Result<(), PlanError> {
        self.interval_ns.map_or(Ok(()), |ns| span("interval", ns, (10 * MS, A_DAY.1)))?;
        if let Some(bits) = self.pace_bits_per_s {
            range("pace", bits, 8_000, 1_000_000_000_000)?;
            if self.role == Role::Receive {
                return conflict("--pace is for the transmitter: give it with -t");
            }
        }
        if let Some(packets) = self.packets {
            range("packets", packets.into(), 1, 100)?;
            if self.role == Role::Receive {
                return conflict("--packets is for the transmitter: give it with -t");
            }
        }
        if self.zero_copy && self.checksum {
            return conflict("--zero-copy: a checksum needs to see the bytes: leave --checksum out");
        }
        if self.zero_copy && self.role == Role::Receive && (self.full_blocks || self.touch) {
            return conflict(
                "--zero-copy: whole blocks are put together in a buffer, and bytes that are looked at are copied: \
                 leave --full-blocks and --touch out",
            );
        }
        Ok(())
    }

    fn datagrams(&self) -> Result<(), PlanError> {
        let for_tcp = [
            (self.streams > 1, "parallel"),
            (self.serve.is_some(), "serve"),
            (self.explain, "explain"),
            (self.packets.is_some(), "packets"),
            (self.zero_copy, "zero-copy"),
            (self.congestion.is_some(), "congestion"),
        ];
        if let Some((_, flag)) = for_tcp.iter().find(|(on, _)| *on) {
            return conflict(format!("--{flag} is for TCP: leave it out, or --udp"));
        }
        if self.checksum {
            return conflict(
                "--checksum is for TCP: what UDP loses is missing anyway; leave one of them out",
            );
        }
        if self.no_delay {
            return conflict("--no-delay is for TCP: a datagram always goes at once; leave it out");
        }
        if self.generated && self.buffer_bytes <= MARK_BYTES {
            return conflict(format!(
                "--buffer-size {}: a datagram of {MARK_BYTES} bytes or fewer marks the start or the end: choose at \
                 least {}",
                self.buffer_bytes,
                MARK_BYTES + 1
            ));
        }
        if self.buffer_bytes > MOST_DATAGRAM_BYTES {
            return conflict(format!(
                "--buffer-size {}: a UDP datagram holds at most 65507 bytes over IPv4, {MOST_DATAGRAM_BYTES} over \
                 IPv6: choose less",
                self.buffer_bytes
            ));
        }
        Ok(())
    }
}
