//! The three transfers that the book prints.

use netfathom_model::record::Cell;

use crate::reference;

/// One segment, which is the small send buffer too.
pub const SEGMENT_BYTES: u32 = 1448;
/// The book's writes.
pub const WRITE_BYTES: u64 = 8192;
const WRITES: u64 = 2048;
pub const BYTES: f64 = (WRITES * WRITE_BYTES) as f64;

const CSV: &str = include_str!("../reference/ttcp_sndbuf.csv");

/// A transfer as it was printed.
pub struct Printed {
    /// Such as `-tsvb 1448`.
    pub options: &'static str,
    pub seconds: Cell,
    /// KB of 1024 bytes a second.
    pub kb_per_s: Cell,
    /// As ttcp has it: a call's milliseconds times 1.024.
    pub msec_per_call: Cell,
}

/// With the system's buffer, with that of one segment, and with that and without Nagle's algorithm.
pub fn printed() -> Vec<Printed> {
    let row = |row: Vec<&'static str>| {
        let at = |at: usize| row.get(at).map(|text| reference::cell(text));
        Some(Printed { options: row.first()?, seconds: at(4)?, kb_per_s: at(5)?, msec_per_call: at(7)? })
    };
    reference::rows(CSV).into_iter().filter_map(row).collect()
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
        assert_eq!(printed().len(), 3);
        for Printed { options, seconds, kb_per_s, msec_per_call } in printed() {
            assert!((BYTES / 1024.0 / seconds.value - kb_per_s.value).abs() < 1e-3, "{options}");
            let call = 1024.0 * seconds.value / WRITES as f64;
            assert!((call - msec_per_call.value).abs() < 0.006, "{options}: {call}");
        }
    }

    /// Six segments a write; each waits for an ACK that is delayed by 200 ms.
    #[test]
    fn the_explanation_gives_what_was_printed() {
        let a_write_s = WRITE_BYTES.div_ceil(SEGMENT_BYTES.into()) as f64 * 0.2;
        for transfer in &printed()[1..] {
            assert!((WRITES as f64 * a_write_s / transfer.seconds.value - 1.0).abs() < 2e-4);
        }
    }
}
