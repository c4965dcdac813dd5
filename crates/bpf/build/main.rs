//! Compiles every kernel program with clang; the objects are embedded into the crate. What a program shares
//! with user space is declared in its `abi.h` alone: the Rust types are written from the compiled object.

use std::path::PathBuf;
use std::{env, fs};

use libbpf_cargo::SkeletonBuilder;

mod layout;

/// A folder in `src/` with `NAME.bpf.c`.
struct Set {
    name: &'static str,
    /// Structs in memory that both sides map: user space has atomics for their fields.
    shared: &'static [&'static str],
    /// Structs that are copied out of a map or a ring, or into one.
    copied: &'static [&'static str],
}

const SETS: [Set; 11] = [
    Set { name: "calls", shared: &["shared"], copied: &[] },
    Set { name: "contention", shared: &["shared"], copied: &["holder_key", "holder", "irq_key", "irq"] },
    Set { name: "delay", shared: &["control"], copied: &[] },
    Set { name: "generator", shared: &["shared"], copied: &["config"] },
    Set { name: "message", shared: &["shared"], copied: &[] },
    Set { name: "probe", shared: &[], copied: &[] },
    Set { name: "sink", shared: &["shared"], copied: &["counts"] },
    Set { name: "softirq", shared: &["control"], copied: &["cpu"] },
    Set {
        name: "stack",
        shared: &["shared"],
        copied: &["cpu_state", "tx_sums", "tx_windows", "part_sums", "part_windows"],
    },
    Set { name: "tree", shared: &["shared"], copied: &["member", "event", "call_key", "call_sum", "call"] },
    Set {
        name: "watch",
        shared: &["shared"],
        copied: &[
            "config",
            "counts",
            "holder",
            "sums",
            "socket_sums",
            "slow_message",
            "drop_key",
            "udp_port",
            "datagram_queue",
        ],
    },
];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for Set { name, shared, copied } in SETS {
        let source = format!("src/{name}/{name}.bpf.c");
        let object = out.join(format!("{name}.bpf.o"));
        SkeletonBuilder::new()
            .source(&source)
            .obj(&object)
            .clang_args(["-Wall", "-Werror", "-Wno-missing-declarations", "-mcpu=v3"])
            .build()
            .unwrap_or_else(|e| panic!("{source}: {e:#}\nclang is needed: apt-get install clang"));
        assert!(fs::metadata(&object).is_ok_and(|m| m.len() > 0), "{source}: clang wrote no object");
        let types = layout::rust_types(&object, shared, copied)
            .unwrap_or_else(|why| panic!("src/{name}/abi.h: {why}"));
        fs::write(out.join(format!("{name}_abi.rs")), types).expect("OUT_DIR can be written");
        println!("cargo::rerun-if-changed=src/{name}");
    }
    println!("cargo::rerun-if-changed=src/include");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-env-changed=CLANG");
}
