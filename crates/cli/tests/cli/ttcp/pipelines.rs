//! Trees of files through pipes and between hosts.

use std::fs;
use std::path::Path;

use netfathom_testkit::{ThreeHosts, needs_programs, needs_root};

use super::{free_port, receiver, receiver_on, receiving};
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

#[test]
fn a_chain_over_three_hosts_moves_a_tree_of_files_while_one_hop_is_slow() {
    needs_root!();
    let hosts = ThreeHosts::create();
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    tree(from.path());
    let unpack = "\"$0\" ttcp -rB -p 6002 | tar xpf -";
    let last = receiver_on(&hosts.last, shell(unpack).current_dir(to.path()), 6002);
    // What comes goes on, both by splice, but no faster than 1 MB/s.
    let hop =
        format!("\"$0\" ttcp -r -p 6001 | \"$0\" ttcp -t --json --pace 8m -p 6002 {}", hosts.last_address());
    let hop = receiver_on(&hosts.middle, &mut shell(&hop), 6001);
    let first = format!("tar cf - . | \"$0\" ttcp -t -p 6001 {}", hosts.middle_address());
    let first = hosts.first.run(|| run(shell(&first).current_dir(from.path()))).unwrap();
    let [hop, last] = [hop, last].map(end);
    assert_eq!([first.status, hop.status, last.status], [0; 3], "{first}{hop}{last}");
    assert!(files(from.path()) == files(to.path()), "the trees differ");
    let paced = super::result(&hop.out);
    // The kernel lets a little go at once.
    assert!(
        paced.streams[0].closed_ns.unwrap() > paced.bytes() * 800,
        "{} bytes at 1 MB/s: {paced:?}",
        paced.bytes()
    );
}

#[test]
fn a_file_as_input_goes_whole() {
    let dir = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..700_001_u32).map(|n| (n >> 3) as u8).collect();
    fs::write(dir.path().join("in"), &bytes).unwrap();
    let port = free_port();
    let keep = format!("exec \"$0\" ttcp -r -p {port} >out");
    let receiving = receiver(shell(&keep).current_dir(dir.path()), port);
    // The first 100,000 bytes were read by somebody before: only the rest goes.
    let script = format!("{{ head -c 100000 >/dev/null; \"$0\" ttcp -t --json -p {port} localhost; }} <in");
    let sending = run(shell(&script).current_dir(dir.path()));
    assert_eq!((sending.status, end(receiving).status), (0, 0), "{sending}");
    let result = super::result(&sending.out);
    assert_eq!(result.way, netfathom_model::record::TransferMethod::SentAsFile);
    let out = fs::read(dir.path().join("out")).unwrap();
    assert!(bytes.ends_with(&out) && out.len() as u64 == result.bytes() && !out.is_empty());
}

#[test]
fn a_terminal_shows_how_far_it_is() {
    needs_programs!(["script"], "bsdutils");
    let (receiving, port) = receiving("-rs");
    // Slow enough to be seen: a small buffer at a time, from a pipe.
    let inner =
        format!("(sleep 0.7; yes | head -c 9000000; sleep 1.2) | \\\"$0\\\" ttcp -t -p {port} localhost");
    let ended = run(shell(&format!("script -qec \"{inner}\" /dev/null")).env("TERM", "xterm"));
    end(receiving).exited(0);
    assert!(ended.out.contains("\r8.58 MiB, "), "{:?}", ended.out);
    let (_, figures) = ended.out.split_once("ttcp-t: 9000000 bytes in ").expect("figures");
    assert!(!figures.contains("MiB"), "{figures:?}");
}
