//! Where captures and logs come from: a file or standard input, unpacked on the way.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

use crate::error::CaptureError;

/// Size of the reads of packed input.
const PACKED_BYTES: usize = 256 << 10;
/// First bytes that identify the format.
const PEEKED_BYTES: usize = 8;
/// zstd's own limit without `--long=28` and more. A file can make us allocate this much memory:
/// 2^27 bytes; only the used part becomes resident.
const WINDOW_LOG: u32 = 27;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    None,
    /// gzip (RFC 1952), of one or more members.
    Gzip,
    /// zstd (RFC 8878), of one or more frames.
    Zstd,
}

impl Packing {
    /// As it is written beside a format; `None` of what was not packed.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Gzip => Some("gzip"),
            Self::Zstd => Some("zstd"),
        }
    }

    fn of(first: &[u8]) -> Self {
        match first {
            [0x1f, 0x8b, ..] => Self::Gzip,
            // The second is a frame to be skipped, with which pzstd begins its files.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::None,
        }
    }
}

/// What an input holds, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Capture,
    Log,
    /// Neither: a log as text, if anything.
    Text,
}

/// Bytes of a file or of standard input, unpacked.
pub struct Input {
    read: Box<dyn Read + Send>,
    packing: Packing,
    /// The first eight bytes, unpacked, or all there are. They are still to be read.
    first: Vec<u8>,
}

impl Input {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &str) -> Result<Self, CaptureError> {
        if path == "-" {
            return Self::new(io::stdin());
        }
        let failed = |source| CaptureError::Open { path: path.into(), source };
        let file = File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.is_dir() {
            return Err(failed(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory")));
        }
        Self::new(file)
    }

    /// Takes what is read from somewhere else.
    pub fn new(read: impl Read + Send + 'static) -> Result<Self, CaptureError> {
        let (first, packed) = peek(read)?;
        let packing = Packing::of(&first);
        if packing == Packing::None {
            return Ok(Self { read: Box::new(packed), packing, first });
        }
        let packed = BufReader::with_capacity(PACKED_BYTES, packed);
        let (first, read): (_, Box<dyn Read + Send>) = if packing == Packing::Gzip {
            let (first, read) = peek(Unpack { read: MultiGzDecoder::new(packed), packing })?;
            (first, Box::new(read))
        } else {
            let failed = |source| CaptureError::Io { offset: 0, source };
            let mut unpack = zstd::Decoder::with_buffer(packed).map_err(failed)?;
            unpack.window_log_max(WINDOW_LOG).map_err(failed)?;
            let (first, read) = peek(Unpack { read: unpack, packing })?;
            (first, Box::new(read))
        };
        Ok(Self { read, packing, first })
    }

    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// What it holds, by its first bytes.
    pub fn content(&self) -> Content {
        if self.first.starts_with(&crate::log::MAGIC) {
            Content::Log
        } else if crate::reader::is_capture(&self.first) {
            Content::Capture
        } else {
            Content::Text
        }
    }
}

impl Read for Input {
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.read.read(into)
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("packing", &self.packing).field("first", &self.first).finish()
    }
}

/// The first bytes, and all of them again. Not more than needed: a pipe may have no more yet.
fn peek<R: Read>(mut read: R) -> Result<(Vec<u8>, impl Read), CaptureError> {
    let mut first = Vec::with_capacity(PEEKED_BYTES);
    read.by_ref()
        .take(PEEKED_BYTES as u64)
        .read_to_end(&mut first)
        .map_err(|source| CaptureError::Io { offset: first.len() as u64, source })?;
    Ok((first.clone(), Cursor::new(first).chain(read)))
}

/// Says what is wrong with packed bytes, which those who unpack them do in few words.
struct Unpack<R> {
    read: R,
    packing: Packing,
}

impl<R: Read> Read for Unpack<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.read.read(into).map_err(|error| {
            // An error of the operating system is not about the packing.
            if error.raw_os_error().is_some() || error.kind() == io::ErrorKind::Interrupted {
                return error;
            }
            let name = self.packing.name().unwrap_or_default();
            let why = match error.kind() {
                io::ErrorKind::UnexpectedEof => format!("the {name} file is cut off"),
                _ => format!("the {name} file is damaged: {error}"),
            };
            io::Error::new(error.kind(), why)
        })
    }
}
