//! The number of a message, read from its payload.

use netfathom_model::message::Header;
use netfathom_model::plan::Numbering;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// Its flow; 0 of messages that are not netfathom's.
    pub flow: u32,
    pub sequence: u64,
    /// When it was sent; 0 of messages that are not netfathom's.
    pub sent_ns: u64,
}

#[inline]
pub fn number(numbering: Numbering, payload: &[u8]) -> Option<Number> {
    match numbering {
        Numbering::Netfathom => Header::read(payload).map(|header| Number {
            flow: header.flow,
            sequence: header.sequence,
            sent_ns: header.sent_ns,
        }),
        Numbering::Field { offset, width, little_endian } => {
            field(payload, offset as usize, width as usize, little_endian).map(|sequence| Number {
                flow: 0,
                sequence,
                sent_ns: 0,
            })
        }
    }
}

/// An unsigned number of at most eight bytes; `None` where the payload ends before it.
#[inline]
fn field(payload: &[u8], offset: usize, width: usize, little_endian: bool) -> Option<u64> {
    let bytes = payload.get(offset..offset.checked_add(width)?)?;
    let mut wide = [0; 8];
    if little_endian {
        wide.get_mut(..width)?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(wide))
    } else {
        wide.get_mut(8usize.checked_sub(width)?..)?.copy_from_slice(bytes);
        Some(u64::from_be_bytes(wide))
    }
}
