//! What the book printed, and what follows from its explanation where its figure is not at hand.

use netfathom_model::record::Cell;

use crate::reference;

/// One segment, which is the small send buffer too.
pub const SEGMENT_BYTES: u32 = 1448;
/// The book's writes.
pub const WRITE_BYTES: u64 = 8192;
/// How many of them.
const WRITES: u64 = 2048;
pub const BYTES: f64 = (WRITES * WRITE_BYTES) as f64;
/// As long as a BSD system puts an acknowledgement off.
const DELAYED_S: f64 = 0.2;

const CSV: &str = include_str!("../reference/ttcp_sndbuf.csv");

/// The printed run with the default buffer: KB of 1024 bytes a second, and seconds.
pub fn printed() -> Option<(Cell, Cell)> {
    let rows = reference::rows(CSV);
    let row = rows.first()?;
    Some((reference::cell(row.get(5)?), reference::cell(row.get(4)?)))
}

/// Segments of a write.
pub fn segments() -> u64 {
    WRITE_BYTES.div_ceil(SEGMENT_BYTES.into())
}

/// Seconds of a write of which each segment waits for an acknowledgement that is put off for as
/// long as it may be.
pub fn stalled_write_s() -> f64 {
    segments() as f64 * DELAYED_S
}

/// Seconds of the whole transfer then.
pub fn stalled_s() -> f64 {
    WRITES as f64 * stalled_write_s()
}

/// KB of 1024 bytes a second.
pub fn kb_per_s(bytes_per_s: f64) -> f64 {
    bytes_per_s / 1024.0
}

/// Milliseconds of a write at this rate.
pub fn write_ms(bytes_per_s: f64) -> f64 {
    1e3 * WRITE_BYTES as f64 / bytes_per_s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_figures_agree_with_each_other() {
        let (kb_per_s, seconds) = printed().unwrap();
        assert!((BYTES / 1024.0 / seconds.value - kb_per_s.value).abs() < 1e-3, "{kb_per_s:?}");
    }

    #[test]
    fn six_segments_wait_in_turn() {
        assert_eq!(segments(), 6);
        assert!((stalled_write_s() - 1.2).abs() < 1e-9 && (stalled_s() - 2457.6).abs() < 1e-6);
    }
}
