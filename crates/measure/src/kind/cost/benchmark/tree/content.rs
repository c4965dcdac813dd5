//! Text that is about as compressible as source text, made quickly.

use netfathom_model::random::SplitMix64;

use super::layout::{below, word};

/// All files are pieces of one text so long. gzip looks back 32 KiB and meets no piece twice;
/// what looks back further would.
const POOL_BYTES: usize = 4 << 20;
const NAMES: usize = 3_000;
const SIGNS: [&str; 12] = [" ", " ", " ", ", ", "->", ".", "(", ")", " = ", " + ", " == ", " *"];
const LINE_ENDS: [&str; 5] = [";\n", ";\n", ";\n", " {\n", "\n"];

/// A text to cut files from.
pub struct Pool {
    text: Vec<u8>,
}

impl Pool {
    pub fn new(seed: u64) -> Self {
        // Not the numbers that the names of the files are drawn from.
        let mut random = SplitMix64::new(!seed);
        let names: Vec<String> = (0..NAMES).map(|_| word(&mut random)).collect();
        let mut text = Vec::with_capacity(POOL_BYTES + 256);
        let mut depth = 0;
        while text.len() < POOL_BYTES {
            depth = (depth + below(&mut random, 3)).saturating_sub(1).min(5);
            text.extend(std::iter::repeat_n(b'\t', depth));
            for _ in 0..1 + below(&mut random, 8) {
                text.extend_from_slice(names[often(&mut random)].as_bytes());
                text.extend_from_slice(SIGNS[below(&mut random, SIGNS.len())].as_bytes());
            }
            text.extend_from_slice(LINE_ENDS[below(&mut random, LINE_ENDS.len())].as_bytes());
        }
        text.truncate(POOL_BYTES);
        Self { text }
    }

    /// The pieces of a file of `bytes` bytes that begins at a random place.
    pub fn pieces(&self, bytes: u64, random: &mut SplitMix64) -> impl Iterator<Item = &[u8]> {
        let mut at = below(random, POOL_BYTES);
        let mut left = bytes as usize;
        std::iter::from_fn(move || {
            let piece = &self.text[at..(at + left).min(POOL_BYTES)];
            (at, left) = (0, left - piece.len());
            (!piece.is_empty()).then_some(piece)
        })
    }
}

/// Few names often, many seldom: the rank's logarithm is even, about as Zipf's law has it.
fn often(random: &mut SplitMix64) -> usize {
    let rank = (NAMES as f64).powf(random.next_unit());
    (rank as usize).min(NAMES) - 1
}
