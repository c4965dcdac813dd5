//! The fuzz targets' bodies over drawn bytes and over their corpus: what a fuzzer would find at
//! once is found by every build.

use std::{fs, path::Path};

use netfathom_message::wire::{Control, Header, Kind};
use proptest::{
    collection::vec,
    prelude::{Just, ProptestConfig, Strategy, any, prop_oneof},
    proptest,
};

use crate::fuzzed;

/// Frames that are right more often than not, so that the draws come deep.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![4 => Just(Kind::Message), 2 => Just(Kind::Chunk), 2 => Just(Kind::LastChunk)];
    let data = (kind, 0_u16..5, vec(any::<u8>(), 0..70)).prop_map(|(kind, channel, body)| {
        let mut bytes = Vec::new();
        Header { kind, channel, length: body.len() as u32 }.put(&mut bytes);
        bytes.extend(body);
        bytes
    });
    let control = prop_oneof![
        (0_u16..5, any::<u32>()).prop_map(|(channel, bytes)| Control::Credit { channel, bytes }),
        (0_u16..5, any::<u64>()).prop_map(|(channel, capacity)| Control::Grant { channel, capacity }),
        Just(Control::Ping),
        Just(Control::Close),
        Just(Control::Abort { code: 7 }),
    ]
    .prop_map(|control| {
        let mut bytes = Vec::new();
        control.put(&mut bytes);
        bytes
    });
    prop_oneof![8 => data, 2 => control, 1 => vec(any::<u8>(), 1..9)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn frames_mean_the_same_however_they_are_cut(choice in 0_u8..8, frames in vec(frame(), 0..30)) {
        let choice = if choice & 1 == 1 { choice & !1 } else { choice };
        fuzzed::incoming::run(&[vec![choice], frames.concat()].concat());
    }

    #[test]
    fn any_bytes_mean_the_same_however_they_are_cut(bytes in vec(any::<u8>(), 0..200)) {
        fuzzed::incoming::run(&bytes);
    }

    #[test]
    fn all_that_was_accepted_comes_once_and_in_order(bytes in vec(any::<u8>(), 0..600)) {
        fuzzed::pair::run(&bytes);
    }
}

fn run_corpus(target: &str, run: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let files = fs::read_dir(&directory).expect("the corpus is checked in");
    let mut count = 0;
    for file in files {
        run(&fs::read(file.expect("an entry").path()).expect("a file"));
        count += 1;
    }
    assert!(count > 3, "{count} files of {target}");
}

#[test]
fn the_corpus_of_incoming_passes() {
    run_corpus("incoming", fuzzed::incoming::run);
}

#[test]
fn the_corpus_of_pair_passes() {
    run_corpus("pair", fuzzed::pair::run);
}
