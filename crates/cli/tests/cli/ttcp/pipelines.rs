//! Trees of files through pipes and between hosts.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use netfathom_testkit::{TwoHosts, privileged, skipped};

use super::{free_port, listens};
use crate::child::{end, run, shell};

/// Files of every awkward length, in folders.
fn tree(at: &Path) {
    for (i, length) in [0_usize, 1, 511, 512, 513, 8191, 65_537, 1_000_003].into_iter().enumerate() {
        let folder = at.join(format!("folder {}", i % 3));
        fs::create_dir_all(&folder).unwrap();
        let bytes: Vec<u8> = (0..length).map(|n| (n.wrapping_mul(2_654_435_761) >> 7) as u8).collect();
        fs::write(folder.join(format!("file {i}")), bytes).unwrap();
    }
}

/// All files below, with what is in them.
fn files(at: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(at).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            found.extend(files(&entry.path()).into_iter().map(|(n, b)| (format!("{name}/{n}"), b)));
        } else {
            found.push((name, fs::read(entry.path()).unwrap()));
        }
    }
    found.sort();
    found
}

fn piped(script: &str, dir: &Path) -> Child {
    shell(script).current_dir(dir).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// tar ends at its archive's mark of the end, and sometimes before it has read what fills up the
/// last record: to whoever writes to it that is a reader that ended too early.
const UNPACK: &str = "{ tar xpf - && cat >/dev/null; }";

#[test]
fn a_tree_of_files_arrives_as_it_was() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    tree(from.path());
    let port = free_port();
    let receiving = piped(&format!("\"$0\" ttcp -rB -p {port} | {UNPACK}"), to.path());
    listens(&receiving, port);
    let sending =
        run(shell(&format!("tar cf - . | \"$0\" ttcp -t -p {port} localhost")).current_dir(from.path()));
    let received = end(receiving);
    assert_eq!((sending.status, received.status), (0, 0), "{}{}", sending.err, received.err);
    assert!(files(from.path()) == files(to.path()), "the trees differ");
}

#[test]
fn a_chain_over_hosts_moves_a_tree_of_files() {
    if !privileged("cli::ttcp::pipelines::a_chain_over_hosts_moves_a_tree_of_files") {
        return;
    }
    let hosts = TwoHosts::create();
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    tree(from.path());
    let near = "10.77.0.1";
    let far = hosts.far_address();
    let last = hosts.near.run(|| piped(&format!("\"$0\" ttcp -r -p 6002 | {UNPACK}"), to.path())).unwrap();
    listens(&last, 6002);
    // Nothing but a hop: what comes goes on, both by splice.
    let hop = format!("\"$0\" ttcp -r -p 6001 | \"$0\" ttcp -t -p 6002 {near}");
    let hop = hosts.far.run(|| piped(&hop, to.path())).unwrap();
    listens(&hop, 6001);
    let first = format!("tar cf - . | \"$0\" ttcp -t -p 6001 {far}");
    let first = hosts.near.run(|| piped(&first, from.path())).unwrap();
    for (name, child) in [("first", first), ("hop", hop), ("last", last)] {
        let ended = end(child);
        assert_eq!(ended.status, 0, "{name}: {}", ended.err);
    }
    assert!(files(from.path()) == files(to.path()), "the trees differ");
}

#[test]
fn a_file_as_input_goes_whole() {
    let dir = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..700_001_u32).map(|n| (n >> 3) as u8).collect();
    fs::write(dir.path().join("in"), &bytes).unwrap();
    let port = free_port();
    let receiving = piped(&format!("exec \"$0\" ttcp -r -p {port} >out"), dir.path());
    listens(&receiving, port);
    // The first 100,000 bytes were read by somebody before: only the rest goes.
    let script = format!("{{ head -c 100000 >/dev/null; \"$0\" ttcp -t --json -p {port} localhost; }} <in");
    let sending = run(shell(&script).current_dir(dir.path()));
    assert_eq!((sending.status, end(receiving).status), (0, 0), "{}", sending.err);
    let result = super::result(&sending.out);
    assert_eq!(result.way, netfathom_model::record::Way::SentAsFile);
    let out = fs::read(dir.path().join("out")).unwrap();
    assert!(bytes.ends_with(&out) && out.len() as u64 == result.bytes() && !out.is_empty());
}

#[test]
fn a_terminal_shows_how_far_it_is() {
    let port = free_port();
    let name = "cli::ttcp::pipelines::a_terminal_shows_how_far_it_is";
    let receiving = piped(&format!("exec \"$0\" ttcp -rs -p {port}"), Path::new("/"));
    listens(&receiving, port);
    // Slow enough to be seen: a small buffer at a time, from a pipe.
    let inner =
        format!("(sleep 0.7; yes | head -c 9000000; sleep 1.2) | \\\"$0\\\" ttcp -t -p {port} localhost");
    let script = format!("command -v script >/dev/null || exit 77; script -qec \"{inner}\" /dev/null");
    let ended = run(shell(&script).env("TERM", "xterm"));
    let received = end(receiving);
    if ended.status == 77 {
        return skipped(name, "there is no script(1)");
    }
    assert_eq!(received.status, 0, "{}", received.err);
    assert!(ended.out.contains("\r8.6 MiB, "), "{:?}", ended.out);
    let (_, figures) = ended.out.split_once("ttcp-t: 9000000 bytes in ").expect("figures");
    assert!(!figures.contains("MiB"), "{figures:?}");
}
