//! Compiles every kernel program with clang; the objects are embedded into the crate.

use std::path::PathBuf;
use std::{env, fs};

use libbpf_cargo::SkeletonBuilder;

/// A folder in `src/` with `NAME.bpf.c`.
const SETS: [&str; 9] =
    ["calls", "delay", "generator", "message", "probe", "sink", "softirq", "stack", "tree"];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for set in SETS {
        let source = format!("src/{set}/{set}.bpf.c");
        let object = out.join(format!("{set}.bpf.o"));
        SkeletonBuilder::new()
            .source(&source)
            .obj(&object)
            .clang_args(["-Wall", "-Werror", "-Wno-missing-declarations", "-mcpu=v3"])
            .build()
            .unwrap_or_else(|e| panic!("{source}: {e:#}\nclang is needed: apt-get install clang"));
        assert!(fs::metadata(&object).is_ok_and(|m| m.len() > 0), "{source}: clang wrote no object");
        println!("cargo::rerun-if-changed=src/{set}");
    }
    println!("cargo::rerun-if-changed=src/include");
    println!("cargo::rerun-if-env-changed=CLANG");
}
