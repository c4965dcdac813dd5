use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;

use netfathom_model::record::Resource;
use netfathom_sys::capability;
use netfathom_testkit::{needs_root, skip, skipped};
use tempfile::TempDir;

use super::*;

const LONG: Duration = Duration::from_secs(60);
static NEVER: AtomicBool = AtomicBool::new(false);
const BURN: &str = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";

fn shell(script: &str, folder: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdout(Stdio::null()).current_dir(folder);
    command
}

/// By all means that work here.
fn each(test: &str, points: &Points) -> Vec<BenchmarkWatch> {
    let mut watches = Vec::new();
    for means in [MarkMeans::Tracepoints, MarkMeans::Notification] {
        match BenchmarkWatch::choose(points, Some(means), false) {
            Ok((watch, None)) => watches.push(watch),
            Ok((_, Some(left_out))) => panic!("{left_out}"),
            Err(e) => skipped(test, &e.to_string()),
        }
    }
    watches
}

fn observe(watch: &mut BenchmarkWatch, command: &mut Command, armed: bool) -> Observed {
    let child = watch.start(command, armed).unwrap();
    assert_eq!(watch.wait(&child, LONG, &NEVER).unwrap(), Waited::Ended);
    let observed = watch.finish(child).unwrap();
    let times = [observed.started_ns].into_iter().chain(observed.marks.iter().map(|mark| mark.at_ns));
    assert!(times.chain([observed.ended_ns]).is_sorted(), "{observed:?}");
    observed
}

/// Until a file is there, or no longer.
fn wait_for(file: &Path, there: bool) {
    let until = Instant::now() + LONG;
    while file.exists() != there && Instant::now() < until {
        thread::sleep(Duration::from_millis(5));
    }
}

fn amount(spent: &Spent, resource: Resource) -> Option<f64> {
    spent.amounts.iter().find(|amount| amount.resource == resource).map(|amount| amount.value)
}

fn places(observed: &Observed) -> Vec<usize> {
    observed.marks.iter().map(|mark| mark.index).collect()
}

fn files(names: impl IntoIterator<Item = String>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "x").unwrap();
    }
    folder
}

#[test]
fn all_means_find_the_same_six_of_twelve_thousand_opens() {
    let names: Vec<String> = (0..12_000).map(|n| format!("tree/f{n}")).collect();
    let folder = files(names.iter().cloned().chain(["other/f40".into(), "other/f11999".into()]));
    fs::write(folder.path().join("list"), format!("other/f40\n{}\nother/f11999", names.join("\n"))).unwrap();
    let named = [11_999, 40, 2_000, 9_000, 9_001, 11_998];
    let mut points: Vec<_> = named.iter().map(|n| PathBuf::from(format!("tree/f{n}"))).collect();
    // A mark may be a relative or an absolute path.
    points[1] = folder.path().join("tree/f40");
    let points = Points::Opens(points);
    for mut watch in each("marks by all means", &points) {
        let tar = || shell("tar -cf - -T list | cat > all", folder.path());
        let observed = observe(&mut watch, &mut tar(), true);
        assert!(observed.status.success());
        assert_eq!((places(&observed), observed.lost), (vec![1, 2, 3, 4, 5, 0], 0), "{:?}", watch.means());
        let control = observe(&mut watch, &mut tar(), false);
        assert_eq!((places(&control), control.lost), (vec![], 0));
        // Each again, and each time.
        let twice = observe(&mut watch, &mut shell("cat tree/f40 tree/f2000 tree/f40", folder.path()), true);
        assert_eq!(places(&twice), [1, 2, 1]);
    }
}

#[test]
fn the_kth_call_of_the_whole_benchmark_is_the_same_by_all_means() {
    let folder = files([]);
    let [write, close] = if cfg!(target_arch = "aarch64") { [64, 57] } else { [1, 3] };
    // Our own fork closes something before it is the program, which does not count.
    let points = [(write, 2_000), (write, 1), (write, 1_001), (write, 2_001), (close, 1)];
    let points = points.map(|(number, k)| CallPoint { number, k }).to_vec();
    for mut watch in each("calls by all means", &Points::Calls(points)) {
        let dd = "dd if=/dev/zero of=/dev/null bs=1 count=1000 status=none";
        let observed = observe(&mut watch, &mut shell(&format!("{dd}; {dd}"), folder.path()), true);
        assert_eq!((places(&observed), observed.lost), (vec![4, 1, 2, 0], 0), "{:?}", watch.means());
    }
}

#[test]
fn without_privilege_there_are_marks_and_the_rest_is_reported_missing() {
    let folder = files(["known".into()]);
    let points = Points::Opens(vec!["known".into()]);
    if let Err(e) = notify::probe() {
        skip!("seccomp does not notify here: {e}");
    }
    // Capabilities are a thread's; the others keep theirs.
    let unprivileged = || {
        capability::drop_all().unwrap();
        let Err(WatchError::Means { means: MarkMeans::Tracepoints, .. }) =
            BenchmarkWatch::choose(&points, Some(MarkMeans::Tracepoints), false)
        else {
            panic!("tracepoints without privilege");
        };
        let (ends, why) = BenchmarkWatch::choose(&Points::Ends, None, false).unwrap();
        assert!(ends.means() == MarkMeans::Ends && why.unwrap().contains("no tracepoints"));
        let (mut watch, why) = BenchmarkWatch::choose(&points, None, false).unwrap();
        assert!(why.unwrap().contains("no tracepoints"));
        assert_eq!(watch.means(), MarkMeans::Notification);
        let observed = observe(&mut watch, &mut shell("cat known", folder.path()), true);
        assert_eq!((places(&observed), observed.lost), (vec![0], 0));
    };
    thread::scope(|scope| scope.spawn(unprivileged).join().unwrap());
}

#[test]
fn what_a_benchmark_leaves_behind_goes_on() {
    let folder = files(["known".into()]);
    for mut watch in each("what is left behind", &Points::Opens(vec!["known".into()])) {
        let script = "(while [ ! -e go ]; do sleep 0.02; done; cat known > copy; rm go) &";
        let observed = observe(&mut watch, &mut shell(script, folder.path()), true);
        assert!(observed.marks.is_empty());
        drop(watch);
        fs::write(folder.path().join("go"), "").unwrap();
        wait_for(&folder.path().join("go"), false);
        assert_eq!(fs::read(folder.path().join("copy")).unwrap(), b"x");
        fs::remove_file(folder.path().join("copy")).unwrap();
    }
}

#[test]
fn a_benchmark_that_does_not_end_is_the_callers() {
    let folder = files(["known".into()]);
    let points = Points::Opens(vec!["known".into()]);
    let ends = BenchmarkWatch::choose(&Points::Ends, Some(MarkMeans::Ends), false).unwrap().0;
    for mut watch in each("what does not end", &points).into_iter().chain([ends]) {
        let missing = watch.start(&mut Command::new("/nowhere/at/all"), true).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let script = "cat known; echo > ready; exec sleep 60";
        let child = watch.start(&mut shell(script, folder.path()), true).unwrap();
        wait_for(&folder.path().join("ready"), true);
        let limit = Duration::from_millis(450);
        let began = Instant::now();
        assert_eq!(watch.wait(&child, limit, &NEVER).unwrap(), Waited::TimeUp);
        assert!(began.elapsed() >= limit);
        assert_eq!(watch.wait(&child, LONG, &AtomicBool::new(true)).unwrap(), Waited::Stopped);
        Process::open(child.id()).unwrap().signal(9).unwrap();
        let observed = watch.finish(child).unwrap();
        fs::remove_file(folder.path().join("ready")).unwrap();
        assert_eq!(observed.status.signal(), Some(9));
        assert!(Duration::from_nanos(observed.ended_ns - observed.started_ns) >= limit);
        assert_eq!(places(&observed).len(), usize::from(watch.means() != MarkMeans::Ends));
    }
}

#[test]
fn usage_of_a_parent_has_no_more_than_the_kernel_reports() {
    let folder = files([]);
    let (mut watch, left_out) = BenchmarkWatch::choose(&Points::Ends, Some(MarkMeans::Ends), false).unwrap();
    assert_eq!(left_out, None);
    let alone = observe(&mut watch, &mut shell(BURN, folder.path()), true).spent;
    let (ran, waited) = (amount(&alone, Resource::Cpu), amount(&alone, Resource::RunQueue));
    assert!(ran > Some(0.0) && waited.is_some(), "{alone:?}");
    // The wait of another process is nowhere.
    let two = observe(&mut watch, &mut shell(&format!("({BURN}) & {BURN}; wait"), folder.path()), true).spent;
    assert!(amount(&two, Resource::Cpu) > ran && amount(&two, Resource::RunQueue).is_none(), "{two:?}");
    needs_root!();
    let (mut watch, left_out) = BenchmarkWatch::choose(&Points::Ends, None, false).unwrap();
    assert_eq!((watch.means(), left_out), (MarkMeans::Tracepoints, None));
    // The child has four times the work: a CPU that others share is slower, but not by as much.
    let work = format!("({BURN}; {BURN}; {BURN}; {BURN}) & {BURN}; wait");
    // On a busy machine nothing may be heard of the end of some threads.
    let both = |_| observe(&mut watch, &mut shell(&work, folder.path()), true).spent;
    let two = (0..5).map(both).find(|spent| spent.early_threads == 0).unwrap();
    assert_eq!(two.missing_threads, 0);
    assert!(
        amount(&two, Resource::RunQueue).is_some() && amount(&two, Resource::Cpu) > ran.map(|ran| 2.0 * ran),
        "{two:?} {alone:?}"
    );
}

#[test]
fn points_that_cannot_be_are_refused() {
    let execve = Points::Calls(vec![CallPoint { number: notify::EXECS[0], k: 1 }]);
    assert!(matches!(
        BenchmarkWatch::choose(&execve, Some(MarkMeans::Notification), false),
        Err(WatchError::Points(_))
    ));
}

/// Descriptors of this process that are programs at system calls.
fn links_at_calls() -> usize {
    let at_call = |text: &String| text.contains("sys_enter") || text.contains("sys_exit");
    let texts = fs::read_dir("/proc/self/fdinfo").unwrap();
    texts.filter_map(|entry| fs::read_to_string(entry.ok()?.path()).ok()).filter(at_call).count()
}

#[test]
fn only_a_benchmark_that_is_armed_has_programs_at_system_calls() {
    const ALONE: &str = "NETFATHOM_WATCH_ALONE";
    needs_root!();
    // Other tests of this process have such programs too.
    if std::env::var_os(ALONE).is_none() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let test =
            "kind::cost::observation::tests::only_a_benchmark_that_is_armed_has_programs_at_system_calls";
        let output = command.args(["--exact", test]).env(ALONE, "").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let folder = files(["known".into()]);
    let points = Points::Opens(vec!["known".into()]);
    let traced = || BenchmarkWatch::choose(&points, Some(MarkMeans::Tracepoints), false).unwrap().0;
    let (mut one, mut other) = (traced(), traced());
    let mut ends = BenchmarkWatch::choose(&Points::Ends, Some(MarkMeans::Ends), false).unwrap().0;
    let during = |watch: &mut BenchmarkWatch, armed: bool| {
        let child = watch.start(&mut shell("cat known", folder.path()), armed).unwrap();
        let during = links_at_calls();
        let ended = watch.finish(child).unwrap();
        assert!(ended.status.success());
        (during, links_at_calls())
    };
    assert_eq!(links_at_calls(), 0);
    assert_eq!(during(&mut one, true), (2, 0));
    assert_eq!(during(&mut ends, true), (0, 0));
    assert_eq!(during(&mut other, true), (2, 0));
    assert_eq!(during(&mut one, false), (0, 0));
    one.start(&mut Command::new("/nowhere/at/all"), true).unwrap_err();
    assert_eq!(links_at_calls(), 0);
}

#[test]
fn an_end_is_when_the_watch_learns_of_it_by_all_means() {
    let folder = files(["known".into()]);
    let ends = BenchmarkWatch::choose(&Points::Ends, Some(MarkMeans::Ends), false).unwrap().0;
    let points = Points::Opens(vec!["known".into()]);
    for mut watch in each("when it ended", &points).into_iter().chain([ends]) {
        for armed in [true, false] {
            let child = watch.start(&mut shell("cat known", folder.path()), armed).unwrap();
            thread::sleep(Duration::from_millis(300));
            // It has ended long ago, but the watch has not looked yet.
            let asked_ns = clock::monotonic_ns();
            let observed = watch.finish(child).unwrap();
            assert!(observed.ended_ns >= asked_ns, "{:?} {armed}", watch.means());
        }
    }
}
