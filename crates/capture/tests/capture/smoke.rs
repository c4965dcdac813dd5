//! The fuzz targets' bodies, over their corpus and some thousands of changes of it: what a
//! fuzzer would find at once is found by every build.

use std::path::Path;

use crate::fuzzed;

/// Changes of each file of a corpus.
const CHANGES: u64 = 100;

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut paths: Vec<_> = std::fs::read_dir(directory)
        .expect("the corpus is checked in")
        .map(|entry| entry.expect("a file").path())
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a file")).collect()
}

/// The same numbers in every run (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) as usize % below.max(1)
    }
}

/// Bytes changed, cut out, doubled or cut off.
fn change(numbers: &mut Numbers, file: &[u8]) -> Vec<u8> {
    const ODD: [u8; 6] = [0, 1, 4, 0x7f, 0x80, 0xff];
    let mut file = file.to_vec();
    for _ in 0..=numbers.next(4) {
        let at = numbers.next(file.len());
        match numbers.next(6) {
            0 => file.truncate(at),
            1 => drop(file.drain(at..(at + numbers.next(8)).min(file.len()))),
            2 => file.extend_from_within(at..),
            3 if at < file.len() => file[at] = numbers.next(256) as u8,
            _ if at < file.len() => file[at] = ODD[numbers.next(ODD.len())],
            _ => {}
        }
    }
    file
}

fn run_all(target: &str, run: impl Fn(&[u8])) {
    let mut numbers = Numbers(1);
    let corpus = corpus(target);
    assert!(corpus.len() >= 10, "a corpus of {target}");
    for file in corpus {
        run(&file);
        for _ in 0..CHANGES {
            run(&change(&mut numbers, &file));
        }
    }
}

#[test]
fn captures_of_any_bytes() {
    run_all("capture_reader", fuzzed::capture_reader::run);
}

#[test]
fn packets_of_any_bytes() {
    run_all("packet_decoder", fuzzed::packet_decoder::run);
}

#[test]
fn logs_of_any_bytes() {
    run_all("log_reader", fuzzed::log_reader::run);
}
