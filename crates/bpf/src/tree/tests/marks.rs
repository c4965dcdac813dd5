//! Marks, and who makes them.

use netfathom_testkit::again_in_pid_namespace;

use super::*;

#[test]
fn of_twelve_thousand_files_the_named_ones_are_reported_in_order() {
    needs_root!();
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
    let mut command = shell("tar -cf - -T list | cat > all; tar -tf all > listed");
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
    let lost = tree.lost();
    assert_eq!((lost.events, lost.threads, lost.unread_paths), (0, 0, 0), "{lost:?}");
}

#[test]
fn others_opens_are_not_reported_and_a_full_ring_is() {
    needs_root!();
    let folder = Folder::new("others");
    let file = folder.file("known");
    let tree = armed(&Watching { opens: vec!["known".into()], ..Watching::default() });
    reap(shell("cat known").current_dir(&folder.0).spawn().unwrap()).unwrap();
    fs::read(&file).unwrap();
    run(&tree, shell("cat unknown 2> /dev/null; cat known").current_dir(&folder.0));
    let events = tree.events().unwrap();
    assert_eq!(opened(&events), [(0, Path::new("known"))]);
    // A MiB of events of more than 32 bytes each, with the header that the ring gives them.
    tree.reset().unwrap();
    const OPENS: usize = 40_000;
    let script = format!("i=0; while [ $i -lt {OPENS} ]; do read x < known; i=$((i+1)); done");
    run(&tree, shell(&script).current_dir(&folder.0));
    let (seen, lost) = (opened(&tree.events().unwrap()).len(), tree.lost().events as usize);
    assert!(seen > 1000 && seen < OPENS, "{seen}");
    assert_eq!(seen + lost, OPENS, "{seen} {lost}");
    tree.reset().unwrap();
    assert_eq!((tree.events().unwrap(), tree.lost()), (vec![], Lost::default()));
}

#[test]
fn a_path_that_is_not_in_memory_is_read_late_and_one_that_is_nowhere_is_counted() {
    needs_root!();
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
    needs_root!();
    let watching = Watching {
        opens: vec!["a".into()],
        calls: vec![(libc::SYS_write as u32, 1)],
        record_calls: true,
        waits: false,
    };
    let mut tree = Tree::attach(&watching).unwrap();
    assert_eq!(links_at_calls(&tree), 0);
    for (armed, links) in [(true, 4), (true, 4), (false, 0), (false, 0)] {
        tree.arm(armed).unwrap();
        assert_eq!(links_at_calls(&tree), links);
    }
}

#[test]
fn the_kth_call_is_that_of_the_whole_tree() {
    needs_root!();
    let write = libc::SYS_write as u32;
    // The last one is made by our own fork before it is the program, and by no process after.
    let mut calls = [2_000, 1, 1_001, 2_001].map(|k| (write, k)).to_vec();
    calls.push((libc::SYS_setpgid as u32, 1));
    let mut tree = armed(&Watching { calls, ..Watching::default() });
    let dd = "dd if=/dev/zero of=/dev/null bs=1 count=1000 status=none";
    let called = |events: &[TreeEvent]| -> Vec<usize> {
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
    assert_eq!(tree.events().unwrap(), []);
}

#[test]
fn all_calls_of_the_tree_are_counted_and_timed() {
    needs_root!();
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
    assert!(write.count == 1000 && write.total_ns > 0, "{write:?}");
    assert!(slept.count == 1 && slept.total_ns >= 300_000_000, "{slept:?}");
    assert_eq!((left.count, left.total_ns), (3, 0));
    let count: u64 = recorded.calls.iter().map(|calls| calls.count).sum();
    assert_eq!(recorded.first.len() as u64, count);
    let place = |number: libc::c_long| {
        recorded.first.iter().position(|called| called.number == number as u64).unwrap()
    };
    assert!(place(libc::SYS_write) < place(libc::SYS_clock_nanosleep));
    assert!(recorded.first.windows(2).all(|two| two[0].at_ns <= two[1].at_ns));
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
        assert!(matches!(Tree::attach(&opens(&["a", "a"])), Err(TreeError::Set(SetError::Step { .. }))));
    }
}

#[test]
fn a_tree_is_followed_in_a_pid_namespace_too() {
    needs_root!();
    let same = ["others_opens_are_not_reported_and_a_full_ring_is", "the_kth_call_is_that_of_the_whole_tree"];
    same.iter().for_each(|test| again_in_pid_namespace(&format!("tree::tests::marks::{test}")));
}
