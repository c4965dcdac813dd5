//! Streaming through more memory than the caches hold.

use std::fs;
use std::hint::black_box;

/// Words of a unit: 1 MiB.
pub const BLOCK_WORDS: usize = (1 << 20) / 8;
const LEAST_BYTES: usize = 64 << 20;
/// Also where a cache is larger than half of it: more would be much of a small machine's memory.
const MOST_BYTES: usize = 256 << 20;

/// Memory that is gone through again and again, each word read and written.
pub struct Stream {
    words: Vec<u64>,
    at: usize,
}

impl Stream {
    /// Twice as much as the largest cache, within bounds, and all of it touched.
    pub fn new() -> Self {
        let cache = largest_cache_bytes().unwrap_or(MOST_BYTES);
        let bytes = (2 * cache).clamp(LEAST_BYTES, MOST_BYTES);
        Self { words: vec![1; bytes.next_multiple_of(BLOCK_WORDS * 8) / 8], at: 0 }
    }

    /// Continues through the next `words` words, and wraps around at the end.
    pub fn go_on(&mut self, mut words: usize) {
        while words > 0 {
            let piece = words.min(self.words.len() - self.at);
            let here = &mut self.words[self.at..self.at + piece];
            here.iter_mut().for_each(|word| *word = word.wrapping_add(1));
            black_box(here);
            self.at = (self.at + piece) % self.words.len();
            words -= piece;
        }
    }
}

/// The largest cache of the first processor, as sysfs has it: `32768K`.
fn largest_cache_bytes() -> Option<usize> {
    let caches = fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?.flatten();
    let size = |path: std::path::PathBuf| {
        let text = fs::read_to_string(path.join("size")).ok()?;
        text.trim().strip_suffix('K')?.parse::<usize>().ok()?.checked_mul(1024)
    };
    caches.filter_map(|cache| size(cache.path())).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_changed_once_a_turn() {
        let mut stream = Stream::new();
        let whole = stream.words.len();
        assert!(whole * 8 >= LEAST_BYTES && whole * 8 <= MOST_BYTES, "{whole}");
        stream.go_on(whole - 10);
        stream.go_on(30);
        assert!(stream.words[..20].iter().all(|&word| word == 3));
        assert!(stream.words[20..].iter().all(|&word| word == 2));
    }
}
