//! kill -9: what it leaves can be read, and nothing stays on the host.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use libbpf_rs::query::{MapInfoIter, ProgInfoIter};
use netfathom_model::record::State;
use netfathom_testkit::needs_root;

use crate::child::{
    LAB, LOOPBACK, end, first_trial, netfathom, only_run, out, run, runs, start, until, until_holds,
};

/// What of the kernel's hangs on a process.
#[derive(Debug, Default)]
pub struct Held {
    programs: BTreeSet<u32>,
    maps: BTreeSet<u32>,
    /// As the links in /proc name them: `net:[4026532177]`.
    namespaces: BTreeSet<String>,
}

impl Held {
    pub fn by(pid: u32) -> Self {
        let mut held = Self::default();
        let proc = Path::new("/proc").join(pid.to_string());
        for file in fs::read_dir(proc.join("fdinfo")).into_iter().flatten().flatten() {
            let info = fs::read_to_string(file.path()).unwrap_or_default();
            let ids = |of| info.lines().filter_map(move |l| l.strip_prefix(of)?.trim().parse::<u32>().ok());
            held.programs.extend(ids("prog_id:"));
            held.maps.extend(ids("map_id:"));
        }
        held.namespaces = namespaces(&proc);
        held.namespaces.remove(&own_namespace());
        held
    }

    pub fn is_gone(&self) -> bool {
        let programs: BTreeSet<u32> = ProgInfoIter::default().map(|p| p.id).collect();
        let maps: BTreeSet<u32> = MapInfoIter::default().map(|map| map.id).collect();
        let is_unloaded = self.programs.is_disjoint(&programs) && self.maps.is_disjoint(&maps);
        is_unloaded && self.namespaces.is_disjoint(&all_namespaces())
    }
}

fn own_namespace() -> String {
    fs::read_link("/proc/self/ns/net").unwrap().to_string_lossy().into_owned()
}

/// The network namespaces that a process is in or has open.
fn namespaces(proc: &Path) -> BTreeSet<String> {
    let entries = |dir: &str| fs::read_dir(proc.join(dir)).into_iter().flatten().flatten().map(|e| e.path());
    entries("fd")
        .chain(entries("task").map(|t| t.join("ns/net")))
        .filter_map(|link| Some(fs::read_link(link).ok()?.to_string_lossy().into_owned()))
        .filter(|to| to.starts_with("net:["))
        .collect()
}

/// Those of all processes, and those that are mounted somewhere.
fn all_namespaces() -> BTreeSet<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|e| e.path());
    let mut all: BTreeSet<String> = processes.flat_map(|p| namespaces(&p)).collect();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    all.extend(mounts.split_whitespace().filter(|w| w.starts_with("net:[")).map(str::to_owned));
    all
}

/// The veth devices of the host itself.
fn veths() -> BTreeSet<String> {
    let names = fs::read_dir("/sys/class/net").unwrap().flatten();
    names.map(|e| e.file_name().to_string_lossy().into_owned()).filter(|n| n.starts_with("veth")).collect()
}

/// Kills a run after its first trial and looks at what is left; returns its process id.
fn kill_and_look(args: &str, out: &Path, look: impl Fn(u32)) -> u32 {
    let mut child = start(netfathom(&format!("{args} --trials 100")).arg("--out").arg(out));
    let before = first_trial(out);
    let pid = child.id();
    look(pid);
    child.kill().unwrap();
    assert_eq!(end(child).status, 128 + 9);
    let run_dir = only_run(out);
    let record = netfathom_results::store::read(&run_dir).unwrap();
    assert_eq!((record.state, &record.id), (State::Partial, &before.id));
    run(netfathom("report").arg(&run_dir)).exited(0);
    assert!(run_dir.join("report.html").exists());
    run(netfathom("report --format txt").arg(&run_dir)).shows(&["NOT WHOLE"]);
    pid
}

#[test]
fn a_killed_run_leaves_a_partial_record_and_the_next_one_sweeps() {
    let dir = out();
    let pid = kill_and_look(LOOPBACK, dir.path(), |_| {});
    let run_dir = only_run(dir.path());
    let ours = std::process::id();
    let file = |name: String| run_dir.join(name);
    let half = [file(format!("record.json.{pid}.tmp")), file(format!("report.html.{pid}.tmp"))];
    // Of a living process, and of none that we know.
    let alive = [file(format!("record.json.{ours}.tmp")), file(format!("notes.{pid}.tmp"))];
    half.iter().chain(&alive).for_each(|f| fs::write(f, "{").unwrap());
    run(netfathom(LOOPBACK).args(["--trials", "1", "--out"]).arg(dir.path())).measured();
    assert_eq!(half.map(|f| f.exists()), [false, false]);
    assert_eq!(alive.map(|f| f.exists()), [true, true]);
    assert_eq!(runs(dir.path()).len(), 2);
}

#[test]
fn a_killed_lab_leaves_nothing_on_the_host() {
    needs_root!();
    let (dir, veths_before) = (out(), veths());
    let seen = std::cell::RefCell::new(Held::default());
    kill_and_look(LAB, dir.path(), |pid| {
        // In a moment when it has both; between two trials it has no programs.
        let held = until("programs and namespaces", || {
            Some(Held::by(pid)).filter(|h| !h.programs.is_empty() && h.namespaces.len() >= 2)
        });
        assert!(!held.is_gone(), "this test cannot see {held:?}");
        *seen.borrow_mut() = held;
    });
    // The kernel removes both in its own time, yet soon.
    until_holds("the kernel to clean up", || seen.borrow().is_gone());
    until_holds("the veth to go", || veths().is_subset(&veths_before));
    let next = out();
    run(netfathom(LAB).args(["--trials", "1", "--out"]).arg(next.path())).measured();
}
