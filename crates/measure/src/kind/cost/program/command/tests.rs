use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use netfathom_sys::process::{adopt_orphans, lives};

use super::super::family::{Family, Starting};
use super::*;

/// Processes of one test are orphans of the whole test program.
static ALONE: Mutex<()> = Mutex::new(());

fn context() -> Context {
    Context {
        namespace: None,
        cpus: Vec::new(),
        grace: Duration::from_millis(300),
        when_ended: WhenEnded::Trouble,
        terminal: false,
        strangers: true,
    }
}

fn shell(script: &str, context: Context) -> Command<'static> {
    let settle = Pause { length: Duration::from_millis(200), ..Pause::none() };
    Command::new("COMMAND", ["sh", "-c", script].map(Into::into).to_vec(), context, settle)
}

/// Switches a script on and off, with a look at it in between.
fn switched_on<T>(mut command: Command<'_>, look: impl FnOnce() -> T) -> (Ran, T) {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    adopt_orphans(true).unwrap();
    command.on(None).unwrap();
    command.begins().unwrap();
    let from_ns = monotonic_ns();
    let seen = look();
    (command.off((from_ns, monotonic_ns())).unwrap(), seen)
}

fn pid_file() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pid");
    (dir, path)
}

fn pid_in(path: &PathBuf) -> u32 {
    fs::read_to_string(path).unwrap().trim().parse().unwrap()
}

#[test]
fn a_program_is_there_and_then_gone_with_its_children() {
    let (_dir, path) = pid_file();
    let script = format!("sleep 100 & echo $! > {}; while :; do :; done", path.display());
    let busy = Duration::from_millis(200);
    let (ran, child) = switched_on(shell(&script, context()), || {
        thread::sleep(busy);
        let child = pid_in(&path);
        assert!(lives(child));
        child
    });
    assert!(!lives(child));
    assert_eq!((ran.trouble, ran.used.starts, ran.used.killed), (None, 1, false));
    assert!(ran.used.present == 1.0 && ran.used.peak_rss_bytes > Some(100_000));
    // It did nothing but run, on a machine that may have had no more than a part of a processor for it.
    let cpu_ns = ran.used.cpu_ns.unwrap();
    assert!(cpu_ns > 10_000_000 && cpu_ns <= ran.used.wall_ns * 11 / 10, "{:?}", ran.used);
}

#[test]
fn what_a_capture_says_that_it_lost_is_kept() {
    let counts = "9 packets captured\n12 packets received by filter\n3 packets dropped by kernel";
    let script = format!("trap 'echo \"{counts}\" >&2; exit 0' TERM; while :; do sleep 0.01; done");
    let (ran, ()) = switched_on(shell(&script, context()), || ());
    assert_eq!(ran.used.lost, Some(0.25));
    let (ran, ()) = switched_on(shell("echo 3 packets lost >&2; sleep 100", context()), || ());
    assert_eq!(ran.used.lost, None, "who says nothing of packets");
}

#[test]
fn one_that_wants_a_terminal_gets_one() {
    let context = Context { terminal: true, ..context() };
    let (ran, ()) = switched_on(shell("test -t 0 && test -t 1 && exec yes", context), || {
        thread::sleep(Duration::from_millis(100));
    });
    assert!(ran.trouble.is_none() && ran.used.output_bytes > Some(100_000), "{ran:?}");
}

#[test]
fn the_part_of_a_time_is_what_lies_within() {
    assert_eq!(present(&[(0, 10), (12, 30)], (5, 15)), 0.8);
    assert_eq!(present(&[(0, 10)], (10, 20)), 0.0);
    assert_eq!(present(&[(0, 100)], (5, 5)), 1.0);
}

#[test]
fn a_daemon_without_an_environment_is_found_and_ended() {
    let (_dir, path) = pid_file();
    let script = format!("env -i setsid sh -c 'echo $$ >{}; exec sleep 100' & sleep 0.1", path.display());
    let (ran, daemon) = switched_on(shell(&script, context()), || pid_in(&path));
    assert!(ran.trouble.is_none() && (ran.used.present - 1.0).abs() < 1e-9, "{ran:?}");
    assert!(!lives(daemon));
}

#[test]
fn a_program_is_not_over_while_its_descendants_fork_and_exit() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    adopt_orphans(true).unwrap();
    let chain = (0..8).fold("exec sleep 1000".to_owned(), |rest, _| format!("( {rest} ) &"));
    for round in 0..50 {
        let (starting, word) = (Starting::now(), fresh_word());
        let mut program = process::Command::new("sh");
        let root = program.args(["-c", &chain]).env(Family::WORD, &word).spawn().unwrap();
        let family = starting.family("COMMAND", word, root.id(), true);
        family.reap(root).unwrap();
        assert!(!family.members().unwrap().is_empty(), "round {round}");
        assert!(!family.end(Duration::from_secs(60)).unwrap());
    }
}

#[test]
fn orphans_that_end_are_reaped_and_counted() {
    // Each orphan spends most of what the program does.
    let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let script = format!("while :; do (sh -c '{busy}' & ); sleep 0.1; done");
    let zombies = || {
        let children = netfathom_sys::process::children_of_first_thread().unwrap();
        children.into_iter().filter(|&pid| netfathom_sys::process::has_ended(pid)).count()
    };
    let (ran, left) = switched_on(shell(&script, context()), || {
        thread::sleep(Duration::from_millis(2000));
        zombies()
    });
    let cpu_ns = ran.used.cpu_ns.unwrap();
    assert!(left < 8, "{left} zombies");
    assert!(cpu_ns * 20 > ran.used.wall_ns, "{:?}", ran.used);
}

#[test]
fn a_share_is_of_the_time_of_the_benchmark() {
    // It is busy before that begins, and asks for time when it is to end.
    let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let script = format!("trap '{busy}; exit' TERM; {busy}; while :; do sleep 0.01; done");
    let mut command = shell(&script, context());
    command.settle.length = Duration::from_millis(1500);
    let (ran, ()) = switched_on(command, || thread::sleep(Duration::from_millis(500)));
    assert!(ran.used.wall_ns >= 500_000_000 && ran.used.wall_ns < 1_500_000_000, "{:?}", ran.used);
}
