//! The kept records of real runs, one or more a measurement. A field that comes later is added to the files by hand.

use std::path::{Path, PathBuf};

use netfathom_model::record::Record;
use netfathom_results::store;

pub const ALL: [&str; 21] = [
    "stack",
    "taps",
    "load",
    "capacity",
    "reverse",
    "join",
    "reproduce",
    "ttcp",
    "sweep",
    "message",
    "cost",
    "cost-chance",
    "cost-offline",
    "cost-own",
    "cost-observers",
    "fleet",
    "fleet-load",
    "watch",
    "watch-tx",
    "watch-both",
    "watch-slow",
];

pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/{name}.json"))
}

pub fn fixture(name: &str) -> Record {
    store::read(&path(name)).expect("the fixture is a record")
}
