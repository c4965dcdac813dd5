//! Who had the processors that a tree waited for.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use netfathom_model::record::Holder;
use netfathom_sys::{cpu, process};
use netfathom_testkit::{Burner, Killed, again_in_pid_namespace, in_pid_namespace};

use super::*;
use crate::lab::await_that;

/// A shell that counts so far on the first processor that this process may use.
fn burner(times: u32) -> Command {
    let first = cpu::allowed().unwrap()[0].to_string();
    let count = format!("i=0; while [ $i -lt {times} ]; do i=$((i+1)); done");
    let mut command = Command::new("taskset");
    command.args(["-c", &first, "sh", "-c", &count]).stdout(Stdio::null());
    command
}

/// Two processes of a tree on that processor.
fn two_burners() -> Command {
    let both = "taskset -cp CPU $$ >/dev/null; i=0; (while [ $i -lt 200000 ]; do i=$((i+1)); done) & \
                while [ $i -lt 200000 ]; do i=$((i+1)); done; wait";
    shell(&both.replace("CPU", &cpu::allowed().unwrap()[0].to_string()))
}

/// Leaves no place for another process, as thousands that had a processor do.
fn fill(tree: &Tree) {
    let map = SET.map(&tree.object, "holders").unwrap();
    let value = vec![0; map.value_size() as usize];
    // Beyond the highest number of a process.
    let takes = |number: &u32| map.update(&number.to_ne_bytes(), &value, MapFlags::NO_EXIST).is_ok();
    assert!((1 << 24..).take_while(takes).count() > 1000);
}

#[test]
fn processes_beyond_the_room_for_single_ones_are_charged_by_name() {
    needs_root!();
    needs_times!();
    let mut tree = Tree::attach(&Watching { waits: true, ..Watching::default() }).unwrap();
    tree.follow_waits(true).unwrap();
    fill(&tree);
    let mut burners = Vec::new();
    let mut with_another = || {
        burners.push(Burner::on(cpu::allowed().unwrap()[0]));
        run(&tree, &mut burner(300_000));
        tree.waits().unwrap()
    };
    let waits = [with_another(), with_another()];
    // One of a name has its number, several have none.
    for (waits, pid) in waits.into_iter().zip([burners[0].pid(), 0]) {
        let most = waits.holders.iter().max_by_key(|held| held.ns).unwrap();
        assert_eq!(most.by, Holder::Process { name: Burner::NAME.into(), pid, cgroup: None }, "{waits:?}");
        assert!(most.ns * 3 > waits.waited_ns, "{waits:?}");
        assert_eq!(waits.holders.iter().map(|held| held.ns).sum::<u64>(), waits.waited_ns);
    }
    // Its own processes have their place before, and are none of the others of their name.
    let _other = Killed(burner(30_000_000).spawn().unwrap());
    run(&tree, &mut two_burners());
    let own = tree.waits().unwrap();
    assert!(own.holders.iter().any(|held| held.by == Holder::Itself && held.ns > 0), "{own:?}");
}

#[test]
fn who_had_the_processor_that_a_tree_waited_for_is_named() {
    needs_root!();
    needs_times!();
    let mut tree = Tree::attach(&Watching { waits: true, ..Watching::default() }).unwrap();
    let mut other = burner(30_000_000).spawn().unwrap();
    tree.follow_waits(true).unwrap();
    let (ended, spent) = run(&tree, &mut burner(300_000));
    tree.follow_waits(false).unwrap();
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(ended.status.success());
    let (waits, waited_ns) = (tree.waits().unwrap(), spent.waited_ns.unwrap());
    println!("{waits:?} {waited_ns}");
    // Its last wait ended with its last time on the processor, which it left for good.
    assert!(waits.waited_ns <= waited_ns && waits.waited_ns * 10 > waited_ns * 9, "{waits:?} {waited_ns}");
    let held = |is: &dyn Fn(&Holder) -> bool| {
        waits.holders.iter().filter(|held| is(&held.by)).map(|held| held.ns).sum::<u64>()
    };
    let by_other = held(&|by| matches!(by, Holder::Process { pid, .. } if *pid == other.id()));
    let by_foreign = held(&|by| !matches!(by, Holder::Process { pid, .. } if *pid == other.id()));
    assert_eq!(by_other + by_foreign, waits.waited_ns);
    // Others on the machine have their part of it; the one that never sleeps has the largest.
    assert_eq!(waits.holders.iter().map(|held| held.ns).max(), Some(by_other), "{waits:?}");
    assert!(by_other * 3 > waits.waited_ns, "{waits:?}");
    // This process is netfathom, not another one: it keeps the processor busy.
    tree.reset().unwrap();
    tree.follow_waits(true).unwrap();
    let (stop, began) = (AtomicBool::new(false), Instant::now());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            cpu::pin(cpu::allowed().unwrap()[0]).unwrap();
            while !stop.load(Relaxed) && began.elapsed() < Duration::from_secs(60) {
                std::hint::spin_loop();
            }
        });
        run(&tree, &mut burner(300_000));
        stop.store(true, Relaxed);
    });
    tree.follow_waits(false).unwrap();
    let own = tree.waits().unwrap();
    assert!(own.holders.iter().any(|held| held.by == Holder::Netfathom && held.ns > 0), "{own:?}");
    // Of two of its own each waits for the other.
    tree.reset().unwrap();
    tree.follow_waits(true).unwrap();
    run(&tree, &mut two_burners());
    tree.follow_waits(false).unwrap();
    let own = tree.waits().unwrap();
    let most = own.holders.iter().max_by_key(|held| held.ns).unwrap();
    assert_eq!(most.by, Holder::Itself, "{own:?}");
    // A run that is not followed adds nothing.
    tree.reset().unwrap();
    run(&tree, &mut burner(0));
    assert_eq!(tree.waits().unwrap().waited_ns, 0);
}

/// The burners that /proc shows.
fn burners_here() -> BTreeSet<u32> {
    let entries = fs::read_dir("/proc").unwrap();
    let all = entries.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    all.filter(|&pid| process::name(pid).as_deref() == Some(Burner::NAME)).collect()
}

/// In there the burner of the run outside has no number, and one that is deeper has two.
#[test]
fn a_holder_has_the_number_that_this_pid_namespace_has_for_it() {
    const THIS: &str = "tree::tests::waits::a_holder_has_the_number_that_this_pid_namespace_has_for_it";
    needs_root!();
    needs_times!();
    let first = cpu::allowed().unwrap()[0];
    let _burner = Burner::on(first);
    if !in_pid_namespace() {
        return again_in_pid_namespace(THIS);
    }
    let mut deeper = Command::new("unshare");
    deeper.args(["--pid", "--fork", "--kill-child", "taskset", "-c", &first.to_string(), Burner::NAME]);
    let _deeper = Killed(deeper.arg("/dev/zero").stdout(Stdio::null()).spawn().unwrap());
    assert!(await_that(|| burners_here().len() >= 2));
    let mut tree = Tree::attach(&Watching { waits: true, ..Watching::default() }).unwrap();
    tree.follow_waits(true).unwrap();
    run(&tree, &mut burner(300_000));
    let waits = tree.waits().unwrap();
    let number = |by: &Holder| match by {
        Holder::Process { name, pid, .. } if name == Burner::NAME => Some(*pid),
        _ => None,
    };
    let numbers: BTreeSet<u32> = waits.holders.iter().filter_map(|held| number(&held.by)).collect();
    assert_eq!(numbers, burners_here(), "{waits:?}");
    let outside = Holder::Unnumbered { name: Burner::NAME.into() };
    assert!(waits.holders.iter().any(|held| held.by == outside), "{waits:?}");
}
