//! The Rust side reads what programs count by name: wherever `abi.h` has it, there it is read.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use libbpf_cargo::SkeletonBuilder;

use super::FOLDER;

#[path = "../../build/layout.rs"]
mod generator;

/// The types of the set `watch`, with another `abi.h`.
fn types(name: &str, change: impl Fn(String) -> String) -> String {
    let folder = env::temp_dir().join(format!("netfathom-layout-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let sources = Path::new(FOLDER).join("src");
    let mut copy = Command::new("cp");
    copy.current_dir(sources).arg("-r").args(["watch", "include"]).arg(&folder);
    assert!(copy.status().unwrap().success());
    let abi = folder.join("watch/abi.h");
    fs::write(&abi, change(fs::read_to_string(&abi).unwrap())).unwrap();
    let object = folder.join("watch.bpf.o");
    let source = folder.join("watch/watch.bpf.c");
    SkeletonBuilder::new().source(source).obj(&object).clang_args(["-mcpu=v3"]).build().unwrap();
    let types = generator::rust_types(&object, &[], &["counts"]).unwrap();
    fs::remove_dir_all(folder).unwrap();
    types
}

/// Exchanges two names that stand once each.
fn swapped(text: String, a: &str, b: &str) -> String {
    assert_eq!((text.matches(a).count(), text.matches(b).count()), (1, 1), "{a} {b}");
    text.replace(a, "?").replace(b, a).replace('?', b)
}

#[test]
fn what_changes_its_place_in_abi_h_is_read_from_there() {
    let as_is = types("as-is", |text| text);
    let changed = types("swapped", |text| {
        swapped(swapped(text, "\tSPAN_TOTAL,", "\tSPAN_ANSWER,"), "\t__u64 seen;", "\t__u64 timed;")
    });
    let value = |text: &str, name: &str| {
        let constant = text.lines().find_map(|line| line.strip_prefix(&format!("pub const {name}: u32 = ")));
        constant.and_then(|value| value.strip_suffix(';')?.parse::<u32>().ok()).unwrap()
    };
    assert_ne!(value(&as_is, "SPAN_TOTAL"), value(&as_is, "SPAN_ANSWER"));
    assert_eq!(value(&changed, "SPAN_TOTAL"), value(&as_is, "SPAN_ANSWER"));
    assert_eq!(value(&changed, "SPAN_ANSWER"), value(&as_is, "SPAN_TOTAL"));
    let comes_first = |text: &str, a: &str, b: &str| text.find(a).unwrap() < text.find(b).unwrap();
    assert!(comes_first(&as_is, "pub seen: u64", "pub timed: u64"));
    assert!(comes_first(&changed, "pub timed: u64", "pub seen: u64"));
}
