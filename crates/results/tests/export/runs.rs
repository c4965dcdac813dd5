//! Runs to export: the fixtures, and one with sampled messages.

use std::fs;
use std::path::PathBuf;

use netfathom_model::record::{Measurement, TransferResult};
use netfathom_model::sample::Sample;
use netfathom_results::export::{self, ExportError, Extent, Format, StoredRun};
use netfathom_results::store;
use netfathom_sys::directory::Directory;
use tempfile::TempDir;

use crate::fixtures::fixture;

pub fn run(name: &str) -> StoredRun {
    StoredRun { record: fixture(name), samples: None }
}

pub fn transfer(run: &mut StoredRun) -> &mut TransferResult {
    let Measurement::Transfer(result) = &mut run.record.measurement else { panic!("another measurement") };
    result
}

/// A run in a format, as bytes, and what was left out.
pub fn written(
    run: &StoredRun,
    format: Format,
    extent: impl Into<Extent>,
) -> Result<(Vec<u8>, Vec<String>), ExportError> {
    let mut out = Vec::new();
    let left_out = export::write(&mut out, run, format, extent)?;
    Ok((out, left_out))
}

pub fn exported(run: &StoredRun, format: Format, extent: impl Into<Extent>) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join(format!("run.{}", format.name()));
    let (bytes, _) = written(run, format, extent).expect("it can be exported");
    fs::write(&file, bytes).expect("written");
    (dir, file)
}

/// Messages of a machine with both ends, 2 us apart and 3 us each: two at a time are under way.
pub fn messages() -> Vec<Sample> {
    (0..50).map(|i| message(i, 5_000_000 + i * 2_000)).collect()
}

fn message(sequence: u64, sent_ns: u64) -> Sample {
    let at = |after: u64| Some(sent_ns + after);
    // One is lost, of one the clock of the reader is behind.
    let lost = sequence == 7;
    let behind = if sequence == 9 { 400 } else { 0 };
    Sample {
        trial: 0,
        sequence,
        intended_ns: sent_ns - 40,
        sent_ns,
        net_dev_queue_ns: at(500),
        qdisc_enqueue_ns: at(520),
        qdisc_dequeue_ns: at(570),
        net_dev_start_xmit_ns: at(600),
        net_dev_xmit_ns: at(1200),
        arrival_ns: at(900),
        netif_receive_skb_ns: at(1100),
        sk_data_ready_ns: (!lost).then_some(sent_ns + 1400),
        sched_wakeup_ns: (!lost).then_some(sent_ns + 1500),
        sched_switch_ns: (!lost).then_some(sent_ns + 2500),
        sock_recv_length_ns: (!lost).then_some(sent_ns + 2800),
        received_ns: (!lost).then_some(sent_ns + 3000 - behind),
        ..Sample::default()
    }
}

pub fn sampled() -> (TempDir, StoredRun) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    store::samples::write(&Directory::open(dir.path()).unwrap(), &messages()).expect("written");
    let samples = Some(dir.path().join(store::SAMPLES_FILE));
    (dir, StoredRun { record: fixture("stack"), samples })
}
