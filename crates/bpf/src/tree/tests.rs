use std::env::current_exe;
use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::process::{Ended, reap};
use netfathom_testkit::{privileged, skipped};

use super::*;

const LONG: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(2);
/// Says which of the tasks below this program is started for.
const TASK: &str = "NETFATHOM_TREE_TASK";

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdout(Stdio::null());
    command
}

/// This program once more, for a task.
fn ourselves(task: &str) -> Command {
    let mut command = Command::new(current_exe().unwrap());
    command.args(["--exact", "tree::tests::a_task_of_another_test"]).env(TASK, task).stdout(Stdio::null());
    command
}

#[test]
fn a_task_of_another_test() {
    match std::env::var(TASK).as_deref() {
        // The leader waits, and another thread becomes a program: it gets the leader's number.
        Ok("exec in a thread") => {
            let become_cat = || panic!("{}", Command::new("cat").arg("/dev/null").exec());
            thread::spawn(become_cat).join().unwrap();
        }
        Ok("open what is not in memory") => open_from_a_page_that_is_not_there(),
        Ok("threads") => {
            let burn =
                || std::hint::black_box((0..3_000_000u64).fold(0, |sum, n| std::hint::black_box(sum ^ n)));
            thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(burn))));
            // After the end of four threads.
            fs::read("/dev/null").unwrap();
        }
        _ => {}
    }
}

/// Opens `known`, whose path lies in a page of a file that is mapped but not read, and then nothing at all.
fn open_from_a_page_that_is_not_there() {
    fs::write("page", b"./known\0").unwrap();
    let file = fs::File::open("page").unwrap();
    // SAFETY: a new mapping at an address of the kernel's choice, which nobody here reads.
    let path = unsafe {
        let path =
            libc::mmap(std::ptr::null_mut(), 8, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0);
        assert_ne!(path, libc::MAP_FAILED);
        path as usize
    };
    let open = |path: usize| {
        // SAFETY: the kernel checks the address.
        unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, libc::O_RDONLY) }
    };
    assert!(open(path) >= 0 && open(16) < 0);
}

/// With its programs at system calls attached.
fn armed(watching: &Watching) -> Tree {
    let mut tree = Tree::attach(watching).unwrap();
    tree.arm(true).unwrap();
    tree
}

/// How many links the kernel has for the programs at system calls.
fn links_at_calls(tree: &Tree) -> usize {
    let at_calls =
        |program: &libbpf_rs::Program<'_>| tree.at_calls.iter().any(|name| program.name() == *name);
    let number = |program: libbpf_rs::Program<'_>| -> u32 {
        let told = fs::read_to_string(format!("/proc/self/fdinfo/{}", program.as_fd().as_raw_fd())).unwrap();
        let number = told.lines().find_map(|line| line.strip_prefix("prog_id:")).unwrap();
        number.trim().parse().unwrap()
    };
    let numbers: Vec<u32> = tree.object.progs().filter(at_calls).map(number).collect();
    libbpf_rs::query::LinkInfoIter::default().filter(|link| numbers.contains(&link.prog_id)).count()
}

fn start(tree: &Tree, command: &mut Command) -> Child {
    tree.adopt_next_child();
    // A thread is no child.
    thread::spawn(|| ()).join().unwrap();
    command.spawn().unwrap()
}

fn run(tree: &Tree, command: &mut Command) -> (Ended, Spent) {
    let ended = reap(start(tree, command)).unwrap();
    tree.settle(PATIENCE).unwrap();
    (ended, tree.spent())
}

fn opened(events: &[Event]) -> Vec<(usize, &Path)> {
    let opened = events.iter().filter_map(|event| match &event.what {
        What::Opened { which, path, .. } => Some((*which, path.as_path())),
        _ => None,
    });
    opened.collect()
}

/// A folder that is gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("netfathom-tree-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "x").unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn of_twelve_thousand_files_the_named_ones_are_told_in_order() {
    if !privileged("marks of a benchmark") {
        return;
    }
    let folder = Folder::new("opens");
    let long = "d".repeat(200);
    let names: Vec<String> =
        (0..12_000).map(|n| format!("{}/f{n}", if n == 9_000 { &long } else { "d" })).collect();
    // Longer than what an event carries, the other one.
    let names: Vec<String> = names.iter().map(|name| format!("{long}/{name}")).collect();
    names.iter().for_each(|name| drop(folder.file(name)));
    fs::write(folder.0.join("list"), names.join("\n")).unwrap();
    let named = [40usize, 2_000, 9_000, 9_001, 11_998, 11_999];
    let opens = named.iter().map(|n| format!("f{n}").into()).collect();
    let tree = armed(&Watching { opens, ..Watching::default() });
    let before = monotonic_ns();
    let mut command = shell("tar -cf - -T list | cat > all; tar -tf all > told");
    let (ended, _) = run(&tree, command.current_dir(&folder.0));
    let after = monotonic_ns();
    assert!(ended.status.success());
    let events = tree.events().unwrap();
    let expected: Vec<PathBuf> = named.iter().map(|&n| names[n].as_str().into()).collect();
    let found = opened(&events);
    let matches = |((which, path), (n, expected)): (&(usize, &Path), (usize, &PathBuf))| {
        *which == n && expected.as_os_str().as_encoded_bytes().ends_with(path.as_os_str().as_encoded_bytes())
    };
    assert_eq!(found.len(), named.len(), "{found:?}");
    assert!(found.iter().zip(expected.iter().enumerate()).all(matches), "{found:?}");
    let times: Vec<u64> = events.iter().map(|event| event.at_ns).collect();
    assert!(times.is_sorted() && times[0] > before && *times.last().unwrap() < after, "{times:?}");
    assert_eq!(events.last().unwrap().what, What::Ended);
    let executed = |event: &&Event| matches!(event.what, What::Executed { .. });
    let programs: Vec<_> = events.iter().filter(executed).map(|event| &event.what).collect();
    let is = |what: &What, is_root: bool, name: &str| matches!(what, What::Executed { root, path } if *root == is_root && path.ends_with(name));
    assert!(
        is(programs[0], true, "sh")
            && programs[1..].iter().all(|p| is(p, false, "tar") || is(p, false, "cat"))
    );
    assert_eq!(programs.len(), 4, "{programs:?}");
    let lost = tree.lost();
    assert_eq!((lost.events, lost.threads, lost.unread_paths), (0, 0, 0), "{lost:?}");
}

#[test]
fn others_opens_are_not_told_and_a_ring_that_is_full_is() {
    if !privileged("marks of others") {
        return;
    }
    let folder = Folder::new("others");
    let file = folder.file("known");
    let tree = armed(&Watching { opens: vec!["known".into()], ..Watching::default() });
    reap(shell("cat known").current_dir(&folder.0).spawn().unwrap()).unwrap();
    fs::read(&file).unwrap();
    run(&tree, shell("cat unknown 2> /dev/null; cat known").current_dir(&folder.0));
    let events = tree.events().unwrap();
    assert_eq!(opened(&events), [(0, Path::new("known"))]);
    assert!(events.iter().all(|event| event.pid.is_some() && event.tid.is_some()), "{events:?}");
    // A MiB of events, of which each has more than 32 bytes.
    tree.reset().unwrap();
    const OPENS: usize = 40_000;
    let script = format!("i=0; while [ $i -lt {OPENS} ]; do read x < known; i=$((i+1)); done");
    run(&tree, shell(&script).current_dir(&folder.0));
    let (told, lost) = (opened(&tree.events().unwrap()).len(), tree.lost().events as usize);
    assert!(told > 1000 && told < OPENS, "{told}");
    // The end is an event too.
    assert!(told + lost == OPENS || told + lost == OPENS + 1, "{told} {lost}");
    tree.reset().unwrap();
    assert_eq!((tree.events().unwrap(), tree.lost()), (vec![], Lost::default()));
}

#[test]
fn a_path_that_is_not_in_memory_is_read_late_and_one_that_is_nowhere_is_counted() {
    if !privileged("paths that are not in memory") {
        return;
    }
    let folder = Folder::new("late");
    folder.file("known");
    let tree = armed(&Watching { opens: vec!["known".into()], ..Watching::default() });
    let (ended, _) = run(&tree, ourselves("open what is not in memory").current_dir(&folder.0));
    assert!(ended.status.success());
    assert_eq!(opened(&tree.events().unwrap()), [(0, Path::new("./known"))]);
    let lost = tree.lost();
    assert!(lost.late_paths >= 1 && lost.unread_paths == 1, "{lost:?}");
}

#[test]
fn nothing_is_at_system_calls_before_it_is_armed() {
    if !privileged("when there are programs at system calls") {
        return;
    }
    let watching =
        Watching { opens: vec!["a".into()], calls: vec![(libc::SYS_write as u32, 1)], record_calls: true };
    let mut tree = Tree::attach(&watching).unwrap();
    assert_eq!(links_at_calls(&tree), 0);
    for (armed, links) in [(true, 4), (true, 4), (false, 0), (false, 0)] {
        tree.arm(armed).unwrap();
        assert_eq!(links_at_calls(&tree), links);
    }
}

#[test]
fn the_kth_call_is_that_of_the_whole_tree() {
    if !privileged("marks at system calls") {
        return;
    }
    let write = libc::SYS_write as u32;
    // The last one is made by our own fork before it is the program, and by nobody after.
    let mut calls = [2_000, 1, 1_001, 2_001].map(|k| (write, k)).to_vec();
    calls.push((libc::SYS_setpgid as u32, 1));
    let mut tree = armed(&Watching { calls, ..Watching::default() });
    let dd = "dd if=/dev/zero of=/dev/null bs=1 count=1000 status=none";
    let called = |events: &[Event]| -> Vec<usize> {
        let which = events.iter().filter_map(|event| match event.what {
            What::Called { which } => Some(which),
            _ => None,
        });
        which.collect()
    };
    let mut command = shell(&format!("{dd}; {dd}"));
    command.process_group(0);
    run(&tree, &mut command);
    assert_eq!(called(&tree.events().unwrap()), [1, 2, 0]);
    // Counted anew, unless they are not armed.
    tree.reset().unwrap();
    run(&tree, &mut command);
    assert_eq!(called(&tree.events().unwrap()), [1, 2, 0]);
    tree.reset().unwrap();
    assert_eq!(links_at_calls(&tree), 1);
    tree.arm(false).unwrap();
    run(&tree, &mut command);
    assert_eq!(links_at_calls(&tree), 0);
    let events = tree.events().unwrap();
    assert!(called(&events).is_empty() && events.len() == 4, "{events:?}");
}

#[test]
fn all_calls_of_the_tree_are_counted_and_timed() {
    if !privileged("all system calls of a tree") {
        return;
    }
    let tree = armed(&Watching { record_calls: true, ..Watching::default() });
    let mut other = shell("while :; do sleep 0.2; done").process_group(0).spawn().unwrap();
    let dd = "dd if=/dev/zero of=/dev/null bs=1 count=1000 status=none; sleep 0.3";
    run(&tree, &mut shell(dd));
    let recorded = tree.recorded().unwrap();
    other.kill().unwrap();
    other.wait().unwrap();
    let of = |number: libc::c_long| {
        recorded.calls.iter().copied().find(|calls| i64::from(calls.number) == number).unwrap()
    };
    let [write, slept, left] = [libc::SYS_write, libc::SYS_clock_nanosleep, libc::SYS_exit_group].map(of);
    assert_eq!((write.count, write.returned), (1000, 1000));
    assert!(slept.count == 1 && slept.max_ns >= 300_000_000 && slept.max_ns == slept.total_ns, "{slept:?}");
    assert!(write.max_ns < write.total_ns, "{write:?}");
    assert_eq!((left.count, left.returned), (3, 0));
    let count: u64 = recorded.calls.iter().map(|calls| calls.count).sum();
    assert_eq!(recorded.first.len() as u64, count);
    let place = |number: libc::c_long| {
        recorded.first.iter().position(|called| called.number == number as u64).unwrap()
    };
    assert!(place(libc::SYS_write) < place(libc::SYS_clock_nanosleep));
    assert!(recorded.first.windows(2).all(|two| two[0].at_ns <= two[1].at_ns));
}

/// wait4(2) adds up the same for a tree whose members all wait for their children.
#[test]
fn what_a_tree_spent_is_what_its_parent_is_told() {
    if !privileged("what a tree spent") {
        return;
    }
    let tree = armed(&Watching { opens: vec!["null".into()], ..Watching::default() });
    let burn = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let scripts = [
        (shell(&format!("{burn}; ({burn}) & wait; exec cat /dev/null")), 2),
        (shell("head -c 64M /dev/zero | tail -n 1"), 3),
        (ourselves("threads"), 6),
        (ourselves("exec in a thread"), 3),
    ];
    for (mut command, threads) in scripts {
        // On a busy machine nothing may be heard of some threads.
        let once = |_| {
            tree.reset().unwrap();
            run(&tree, &mut command)
        };
        let (ended, spent) = (0..5).map(once).find(|(_, spent)| spent.early == 0).unwrap();
        assert!(ended.status.success());
        let usage = ended.usage;
        let told = usage.user_ns + usage.system_ns;
        // To a microsecond each, and what a thread runs between its being reaped and its last switch.
        let more = spent.ran_ns as f64 / told as f64;
        assert!(more > 0.99 && more < 1.1, "{spent:?} {usage:?}");
        assert_eq!((spent.threads, spent.running, spent.unsettled), (threads, 0, 0), "{command:?}");
        assert_eq!((spent.minor_faults, spent.major_faults), (usage.minor_faults, usage.major_faults));
        let switched = spent.voluntary_switches;
        assert!(switched >= usage.voluntary_switches && switched <= usage.voluntary_switches + threads);
        assert!(spent.waited_ns.is_some());
        assert_eq!(tree.events().unwrap().last().unwrap().what, What::Ended);
    }
}

#[test]
fn more_threads_than_there_is_room_for_come_and_go() {
    if !privileged("many forks") {
        return;
    }
    let tree = Tree::attach(&Watching::default()).unwrap();
    let (_, spent) = run(&tree, &mut shell("i=0; while [ $i -lt 9000 ]; do (:); i=$((i+1)); done"));
    assert_eq!((spent.threads, spent.running, spent.unsettled), (9_001, 0, 0), "{spent:?}");
    assert_eq!(tree.lost(), Lost::default());
}

#[test]
fn of_one_that_nobody_reaps_what_it_had_spent_at_its_end_is_taken() {
    if !privileged("who is not reaped") {
        return;
    }
    let tree = Tree::attach(&Watching::default()).unwrap();
    let child = start(&tree, &mut shell("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"));
    let until = Instant::now() + LONG;
    while tree.spent().running > 0 && Instant::now() < until {
        sleep(Duration::from_millis(5));
    }
    tree.settle(Duration::from_millis(100)).unwrap();
    let early = tree.spent();
    assert_eq!((early.threads, early.early, early.unsettled), (1, 1, 0), "{early:?}");
    let usage = reap(child).unwrap().usage;
    let part = early.ran_ns as f64 / (usage.user_ns + usage.system_ns) as f64;
    assert!(part > 0.8 && part <= 1.0 && early.minor_faults > 0, "{early:?} {usage:?}");
    // Not once more.
    sleep(Duration::from_millis(100));
    assert_eq!(tree.spent(), early);
}

#[test]
fn a_stranger_at_the_place_of_a_member_does_not_count() {
    if !privileged("strangers at the places of members") {
        return;
    }
    let tree = Tree::attach(&Watching::default()).unwrap();
    let burn = "read x; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    // As it is left behind if nothing is heard of a thread's end, or neither of its exit.
    for exited in [1u64, 0] {
        tree.reset().unwrap();
        let mut stranger = start(&tree, shell(burn).stdin(Stdio::piped()));
        let members = map(&tree.object, "members").unwrap();
        let place = members.keys().next().unwrap();
        let value = members.lookup(&place, MapFlags::ANY).unwrap().unwrap();
        let mut words: Vec<u64> = value.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        (words[0], words[1], words[2]) = (exited, words[1] - 1, 5);
        let value: Vec<u8> = words.into_iter().flat_map(u64::to_ne_bytes).collect();
        members.update(&place, &value, MapFlags::EXIST).unwrap();
        tree.seen().exited.store(exited, Relaxed);
        drop(stranger.stdin.take());
        reap(stranger).unwrap();
        tree.settle(Duration::from_millis(200)).unwrap();
        let spent = tree.spent();
        let counts = (spent.threads, spent.early, spent.running, spent.unsettled);
        assert_eq!(counts, (exited, exited, 1 - exited, 0), "{spent:?}");
        assert_eq!(spent.ran_ns, 5 * exited, "{spent:?}");
    }
}

#[test]
fn the_most_memory_is_that_of_the_largest_process() {
    if !privileged("the memory of a tree") {
        return;
    }
    let tree = Tree::attach(&Watching::default()).unwrap();
    let (_, small) = run(&tree, &mut shell("head -c 64M /dev/zero | cat"));
    tree.reset().unwrap();
    let (_, large) = run(&tree, &mut shell("head -c 64M /dev/zero | tail -n 1"));
    match (small.peak_rss_bytes, large.peak_rss_bytes) {
        (Some(small), Some(large)) => assert!(large >= 64 << 20 && small < 32 << 20, "{small} {large}"),
        _ => skipped("the memory of a tree", "needs Linux 6.16"),
    }
}

#[test]
fn two_on_one_processor_wait_for_each_other() {
    if !privileged("waiting for a processor") {
        return;
    }
    let tree = Tree::attach(&Watching::default()).unwrap();
    let burn = || {
        let script = "i=0; while [ $i -lt 600000 ]; do i=$((i+1)); done";
        let mut command = Command::new("taskset");
        command.args(["-c", "0", "sh", "-c", script]);
        command
    };
    let other = burn().spawn().unwrap();
    let before = monotonic_ns();
    let (_, spent) = run(&tree, &mut burn());
    let other = reap(other).unwrap();
    assert!(other.status.success());
    let ended = tree.events().unwrap().last().unwrap().at_ns;
    let lacking = (ended - before - spent.ran_ns) as f64;
    let waited = spent.waited_ns.unwrap() as f64;
    assert!(lacking > 0.2 * spent.ran_ns as f64, "{spent:?}");
    assert!(waited > 0.7 * lacking && waited < 1.1 * lacking, "waited {waited}, lacks {lacking}, {spent:?}");
}

#[test]
fn a_member_that_leaves_its_parents_stays_one() {
    if !privileged("members that leave") {
        return;
    }
    let folder = Folder::new("leaves");
    folder.file("late");
    let tree = armed(&Watching { opens: vec!["late".into()], ..Watching::default() });
    let script = "(setsid sh -c 'i=0; while [ ! -e go ] && [ $i -lt 2000 ]; do sleep 0.05; i=$((i+1)); done; cat late' &) ; exit 0";
    let child = start(&tree, shell(script).current_dir(&folder.0));
    reap(child).unwrap();
    tree.settle(Duration::from_millis(200)).unwrap();
    assert!(tree.spent().running > 0);
    folder.file("go");
    let until = Instant::now() + LONG;
    while tree.spent().running > 0 && Instant::now() < until {
        sleep(Duration::from_millis(5));
    }
    let events = tree.events().unwrap();
    let ended = events.iter().position(|event| event.what == What::Ended).unwrap();
    assert_eq!(opened(&events[ended..]), [(0, Path::new("late"))]);
}

#[test]
fn wrong_marks_are_refused() {
    let opens =
        |names: &[&str]| Watching { opens: names.iter().map(Into::into).collect(), ..Watching::default() };
    let calls = |calls: &[(u32, u64)]| Watching { calls: calls.to_vec(), ..Watching::default() };
    let wrong = [opens(&["a/b"]), opens(&[""]), opens(&["a"; 65]), calls(&[(1, 0)]), calls(&[(511, 1)])];
    for watching in wrong {
        assert!(matches!(Tree::attach(&watching), Err(TreeError::Mark(_))), "{watching:?}");
    }
    if privileged("a mark twice") {
        assert!(matches!(Tree::attach(&opens(&["a", "a"])), Err(TreeError::Step { .. })));
    }
}

#[test]
fn a_tree_is_followed_in_a_pid_namespace_too() {
    const TEST: &str = "tree in a PID namespace";
    if !privileged(TEST) {
        return;
    }
    let same =
        ["others_opens_are_not_told_and_a_ring_that_is_full_is", "the_kth_call_is_that_of_the_whole_tree"];
    for test in same {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--mount-proc"]);
        command.arg(current_exe().unwrap()).args([&format!("tree::tests::{test}"), "--exact", "--nocapture"]);
        match command.output() {
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stdout);
                assert!(
                    output.status.success() && said.contains("1 passed"),
                    "{said}{}",
                    String::from_utf8_lossy(&output.stderr)
                );
            }
            Err(e) => skipped(TEST, &format!("unshare: {e}")),
        }
    }
}
