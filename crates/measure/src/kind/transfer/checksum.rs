//! The data's checksum behind the data, and the receiver's answer to it.
//!
//! TCP has no end of the data but the end of the stream, so the checksum is its last 40 bytes: a sign
//! and the SHA-256 of everything before. A receiver holds that many bytes back until it knows that they
//! are the last. If both agree, it sends the same 40 bytes back; otherwise it cuts the connection, so
//! that both ends know either way. The classic tool does not do this: both ends need the option.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::BorrowedFd;

use netfathom_model::plan::TransferPlan;
use netfathom_model::record::Checksum;
use netfathom_sys::endpoint;
use sha2::{Digest, Sha256};

use super::account::Meter;
use super::incoming::touch;
use super::outgoing::send_all;
use super::pace::Pace;
use super::tcp::{file, read, write_all};
use super::timing::Timing;
use super::{Around, Broken};

/// What no data ends with by chance, together with a checksum that fits.
const SIGN: [u8; 8] = *b"nfsha256";
const TRAILER: usize = SIGN.len() + 32;

type Trailer = [u8; TRAILER];

fn trailer(hash: Sha256) -> Trailer {
    let mut bytes = [0; TRAILER];
    bytes[..SIGN.len()].copy_from_slice(&SIGN);
    bytes[SIGN.len()..].copy_from_slice(&hash.finalize());
    bytes
}

fn checksum(trailer: &Trailer, agrees: bool) -> Checksum {
    let sha256 = trailer[SIGN.len()..].iter().map(|byte| format!("{byte:02x}")).collect();
    Checksum { sha256, agrees }
}

/// Sends all there is and its checksum behind it.
pub(super) fn send(
    plan: &TransferPlan,
    around: Around<'_>,
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    meter: &mut Meter<'_, impl Timing>,
) -> Result<Trailer, Broken> {
    let mut hash = Sha256::new();
    let mut input =
        if plan.generated { None } else { Some(file(around.standard.input).map_err(Broken::Input)?) };
    let mut buffers = plan.time_ns.map_or(plan.buffers, |_| u64::MAX);
    let mut pace = Pace::start(plan);
    loop {
        let bytes = match &mut input {
            // Whole buffers only: what was hashed must have gone.
            None if buffers == 0 || around.expired() => 0,
            None => buffer.len(),
            Some(input) => meter.timing.on_standard(|| read(around, input, buffer))?,
        };
        if bytes == 0 {
            break;
        }
        buffers = buffers.saturating_sub(1);
        pace.wait(bytes, around);
        hash.update(&buffer[..bytes]);
        send_all(around, socket, &buffer[..bytes], meter)?;
    }
    let trailer = trailer(hash);
    let (bytes, calls) = (meter.bytes, meter.calls);
    send_all(around, socket, &trailer, meter)?;
    (meter.bytes, meter.calls) = (bytes, calls);
    Ok(trailer)
}

pub(super) fn answered(sent: &Trailer, reply: &[u8]) -> Result<Checksum, Broken> {
    if reply == sent {
        return Ok(checksum(sent, true));
    }
    Err(Broken::Checksum(match reply {
        [] => {
            "everything went, but the receiver confirmed no checksum: give it --checksum too, else the checksum is in \
             its data"
        }
        _ => "the receiver has another checksum: the data was changed on its way",
    }))
}

/// Receives all there is, and compares it with the checksum behind it.
pub(super) fn receive(
    plan: &TransferPlan,
    around: Around<'_>,
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    meter: &mut Meter<'_, impl Timing>,
) -> Result<Checksum, Broken> {
    let mut taken = Taken::new(plan, around)?;
    let most = plan.serve.and_then(|service| service.most_bytes).unwrap_or(u64::MAX);
    loop {
        around.unless_stopped()?;
        match meter.timing.on_socket(|| endpoint::receive(socket, buffer)) {
            Ok(0) => break,
            Ok(bytes) => {
                meter.moved(bytes);
                if meter.bytes.saturating_sub(TRAILER as u64) > most {
                    return Err(Broken::Network(ErrorKind::FileTooLarge.into()));
                }
                if plan.touch {
                    touch(&buffer[..bytes]);
                }
                meter.timing.on_standard(|| taken.take(&buffer[..bytes]))?;
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => {
                taken.flush()?;
                return Err(Broken::Network(e));
            }
        }
    }
    let came = taken.last()?;
    meter.bytes -= TRAILER as u64;
    let ours = trailer(taken.hash);
    if came != ours {
        return Err(Broken::Checksum(
            "the checksum behind the data is another: the data was changed on its way",
        ));
    }
    endpoint::send(socket, &ours).map(|_| checksum(&ours, true)).map_err(Broken::Network)
}

/// What came, but for the last bytes of it.
struct Taken<'a> {
    around: Around<'a>,
    output: Option<File>,
    hash: Sha256,
    /// The last bytes, which may be the checksum.
    tail: Vec<u8>,
    /// What waits for its block to be full.
    block: Vec<u8>,
    block_bytes: usize,
}

impl<'a> Taken<'a> {
    fn new(plan: &TransferPlan, around: Around<'a>) -> Result<Self, Broken> {
        let output =
            if plan.generated { None } else { Some(file(around.standard.output).map_err(Broken::Output)?) };
        let block_bytes = if plan.full_blocks { plan.buffer_bytes as usize } else { 1 };
        Ok(Self { around, output, hash: Sha256::new(), tail: Vec::new(), block: Vec::new(), block_bytes })
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        let free = (self.tail.len() + bytes.len()).saturating_sub(TRAILER);
        let old: Vec<u8> = self.tail.drain(..free.min(self.tail.len())).collect();
        let (new, held) = bytes.split_at(free - old.len());
        self.tail.extend(held);
        self.put(&old)?;
        self.put(new)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.hash.update(bytes);
        let Some(output) = &mut self.output else { return Ok(()) };
        if self.block_bytes == 1 {
            return write_all(self.around, output, bytes);
        }
        self.block.extend(bytes);
        while self.block.len() >= self.block_bytes {
            write_all(self.around, output, &self.block[..self.block_bytes])?;
            self.block.drain(..self.block_bytes);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Broken> {
        self.output.as_mut().map_or(Ok(()), |output| write_all(self.around, output, &self.block))
    }

    /// The end of the stream, which is a checksum, or else data.
    fn last(&mut self) -> Result<Trailer, Broken> {
        match Trailer::try_from(self.tail.as_slice()) {
            Ok(trailer) if trailer.starts_with(&SIGN) => self.flush().map(|()| trailer),
            _ => {
                let tail = std::mem::take(&mut self.tail);
                self.put(&tail)?;
                self.flush()?;
                Err(Broken::Checksum("no checksum came behind the data: give the sender --checksum too"))
            }
        }
    }
}
