//! The header for C and this crate agree on every number that the ring is made of.

use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use crate::layout::{
    HEADER_BYTES, Header, LEAST_SLOTS, MAGIC, MOST_SLOTS, NAME_BYTES, OWN_SLOTS, SLOT_BYTES, Slot, VERSION,
    ring_bytes, state,
};

/// What there is to agree on, by the names that `tests/c/numbers.c` prints.
const NUMBERS: [(&str, u64); 27] = [
    ("magic", offset_of!(Header, magic) as u64),
    ("version", offset_of!(Header, version) as u64),
    ("header_bytes", offset_of!(Header, header_bytes) as u64),
    ("slot_bytes", offset_of!(Header, slot_bytes) as u64),
    ("slots", offset_of!(Header, slots) as u64),
    ("name_bytes", offset_of!(Header, name_bytes) as u64),
    ("listener", offset_of!(Header, listener) as u64),
    ("head", offset_of!(Header, head) as u64),
    ("tail", offset_of!(Header, tail) as u64),
    ("lost", offset_of!(Header, lost) as u64),
    ("header", HEADER_BYTES as u64),
    ("slot.word", offset_of!(Slot, word) as u64),
    ("slot.at_ns", offset_of!(Slot, at_ns) as u64),
    ("slot.owner", offset_of!(Slot, owner) as u64),
    ("slot.name", offset_of!(Slot, name) as u64),
    ("slot", SLOT_BYTES as u64),
    ("MAGIC", MAGIC),
    ("VERSION", VERSION as u64),
    ("NAME_BYTES", NAME_BYTES as u64),
    ("SLOTS", OWN_SLOTS as u64),
    ("LEAST_SLOTS", LEAST_SLOTS as u64),
    ("MOST_SLOTS", MOST_SLOTS as u64),
    ("free", state::FREE),
    ("writing", state::WRITING),
    ("written", state::WRITTEN),
    ("abandoned", state::ABANDONED),
    ("ring", ring_bytes(OWN_SLOTS) as u64),
];

#[test]
fn the_header_for_c_has_the_same_numbers() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("numbers");
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"]).arg(package.join("include"));
    let made = cc.arg(package.join("tests/c/numbers.c")).arg("-o").arg(&program).status().unwrap();
    assert!(made.success());
    let printed = String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap();
    let expected: Vec<String> = NUMBERS.iter().map(|(name, number)| format!("{name} {number}")).collect();
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
}
