//! What a tree spent.

use super::*;
use crate::lab::await_that;

/// wait4(2) adds up the same for a tree in which every member waits for its children.
#[test]
fn what_a_tree_spent_is_what_wait4_reports() {
    needs_root!();
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
        let accounted = usage.user_ns + usage.system_ns;
        // To a microsecond each, and what a thread runs between its being reaped and its last switch.
        let more = spent.ran_ns as f64 / accounted as f64;
        assert!(more > 0.99 && more < 1.1, "{spent:?} {usage:?}");
        assert_eq!((spent.threads, spent.running, spent.unsettled), (threads, 0, 0), "{command:?}");
        assert_eq!((spent.minor_faults, spent.major_faults), (usage.minor_faults, usage.major_faults));
        let switched = spent.voluntary_switches;
        assert!(switched >= usage.voluntary_switches && switched <= usage.voluntary_switches + threads);
        assert!(spent.waited_ns.is_some());
    }
}

#[test]
fn more_threads_than_there_is_room_for_come_and_go() {
    needs_root!();
    let tree = Tree::attach(&Watching::default()).unwrap();
    let (_, spent) = run(&tree, &mut shell("i=0; while [ $i -lt 9000 ]; do (:); i=$((i+1)); done"));
    assert_eq!((spent.threads, spent.running, spent.unsettled), (9_001, 0, 0), "{spent:?}");
    assert_eq!(tree.lost(), Lost::default());
}

#[test]
fn of_one_that_is_not_reaped_what_it_had_spent_at_its_end_is_taken() {
    needs_root!();
    let tree = Tree::attach(&Watching::default()).unwrap();
    let child = start(&tree, &mut shell("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"));
    assert!(await_that(|| tree.spent().running == 0));
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
    needs_root!();
    let tree = Tree::attach(&Watching::default()).unwrap();
    let burn = "read x; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    // As it is left behind if nothing is heard of a thread's end, or neither of its exit.
    for exited in [1u64, 0] {
        tree.reset().unwrap();
        let mut stranger = start(&tree, shell(burn).stdin(Stdio::piped()));
        let members = SET.map(&tree.object, "members").unwrap();
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
fn two_on_one_processor_wait_for_each_other() {
    needs_root!();
    let tree = Tree::attach(&Watching::default()).unwrap();
    let burn = || {
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let mut command = Command::new("taskset");
        command.args(["-c", "0", "sh", "-c", script]);
        command
    };
    let other = burn().spawn().unwrap();
    let before = monotonic_ns();
    reap(start(&tree, &mut burn())).unwrap();
    let ended = monotonic_ns();
    tree.settle(PATIENCE).unwrap();
    let spent = tree.spent();
    let other = reap(other).unwrap();
    assert!(other.status.success());
    let lacking = (ended - before - spent.ran_ns) as f64;
    let waited = spent.waited_ns.unwrap() as f64;
    assert!(lacking > 0.2 * spent.ran_ns as f64, "{spent:?}");
    assert!(waited > 0.7 * lacking && waited < 1.1 * lacking, "waited {waited}, lacks {lacking}, {spent:?}");
}

#[test]
fn a_member_that_leaves_its_parents_stays_one() {
    needs_root!();
    let folder = Folder::new("leaves");
    folder.file("late");
    let tree = armed(&Watching { opens: vec!["late".into()], ..Watching::default() });
    let script = "(setsid sh -c 'i=0; while [ ! -e go ] && [ $i -lt 2000 ]; do sleep 0.05; i=$((i+1)); done; cat late' &) ; exit 0";
    let child = start(&tree, shell(script).current_dir(&folder.0));
    reap(child).unwrap();
    tree.settle(Duration::from_millis(200)).unwrap();
    assert!(tree.spent().running > 0);
    folder.file("go");
    assert!(await_that(|| tree.spent().running == 0));
    assert_eq!(opened(&tree.events().unwrap()), [(0, Path::new("late"))]);
}
