//! Machines that are poor, shared or strange.

use std::path::Path;

use netfathom_model::path::Tap;
use netfathom_model::plan::Place;
use netfathom_testkit::{needs, needs_programs, needs_root};

use crate::child::{
    Ended, LOOPBACK, netfathom, out, record, recorded, result, run, shell, unprivileged, unshared,
};

#[test]
fn without_privilege_it_measures_and_says_what_is_left_out() {
    let (ended, record) = recorded(&mut unprivileged("stack both -v --profile constant:1k/100ms --trials 2"));
    let result = result(&record);
    assert_eq!((result.tap, result.plan.place), (Tap::Timestamping, Place::Loopback));
    let chosen = |ended: &Ended| ended.err.contains("measuring over loopback, as you are not root");
    assert!(chosen(&ended), "{ended}");
    for asked in ["--loopback", "--quiet"] {
        let args = format!("stack tx --profile constant:1k/100ms --trials 1 {asked}");
        let (ended, _) = recorded(&mut unprivileged(&args));
        assert!(!chosen(&ended), "{asked}: {ended}");
    }
    let [left_out] = &result.left_out[..] else { panic!("{:?}", result.left_out) };
    assert_eq!(left_out.what, "bpf tap");
    assert!(!left_out.reason.is_empty() && !left_out.remedy.is_empty());
    ended.shows(&[&left_out.reason, &left_out.remedy]);
}

#[test]
fn little_of_everything_is_enough_or_is_reported() {
    for limits in ["-l 0", "-c 0 -s 1024"] {
        let dir = out();
        let to = dir.path().display();
        let script = format!("ulimit {limits} && exec \"$0\" {LOOPBACK} --trials 1 --quiet --out {to}");
        let ended = run(&mut shell(&script.replace("-c 0 -s", "-c 0 && ulimit -s")));
        assert!(matches!(ended.status, 0 | 1 | 3), "ulimit {limits}: {ended}");
        assert!(!ended.err.contains("panicked"), "ulimit {limits}: {ended}");
    }
}

#[test]
fn an_empty_environment_is_enough() {
    let dir = out();
    let mut command = netfathom(LOOPBACK);
    command.args(["-v", "--trials", "1", "--out"]).arg(dir.path()).env_clear();
    run(&mut command).measured().shows(&["Accounting"]);
}

#[test]
fn one_processor_is_enough() {
    needs_programs!(["taskset"], "util-linux");
    let dir = out();
    let script = "first=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/self/status); \
                  exec taskset -c $first \"$0\" ";
    let to = dir.path().display();
    run(&mut shell(&format!("{script}{LOOPBACK} --trials 1 --quiet --out {to}"))).measured();
}

#[test]
fn where_the_clock_is_shifted_no_kernel_program_takes_times() {
    const SHIFTED: &str = "exec unshare -T --monotonic 1000 --fork";
    needs_root!();
    let can = run(&mut shell(&format!("{SHIFTED} true"))).status == 0;
    needs!(can, "needs time namespaces: CONFIG_TIME_NS and util-linux 2.36");
    let dirs = [out(), out()];
    let [watched, stacked] = dirs.each_ref().map(|dir| dir.path());
    let shifted =
        |args: &str, out: &Path| run(&mut shell(&format!("{SHIFTED} \"$0\" {args} --out {}", out.display())));
    let why = "in a time namespace that shifts CLOCK_MONOTONIC by 1000 s";
    let ended = shifted("watch --port 1 --time 200ms", watched).exited(1);
    ended.explains(&[why, "run netfathom outside of that namespace"]);

    shifted("stack tx --profile constant:1k/100ms --trials 1", stacked).measured();
    let record = record(stacked).unwrap();
    let result = result(&record);
    assert_eq!(result.tap, Tap::Timestamping);
    assert!(result.left_out[0].reason.contains(why), "{:?}", result.left_out);
}

/// Within it this process has all capabilities, which the kernel asks for outside.
#[test]
fn a_user_namespace_is_named_as_what_denies_kernel_programs() {
    needs!(run(&mut unshared("-Ur", "true")).status == 0, "needs user namespaces");
    let dir = out();
    let script = format!("exec \"$0\" watch --port 1 --time 200ms --out {}", dir.path().display());
    let ended = run(&mut unshared("-Ur", &script)).exited(1).explains(&["cannot load", "user namespace"]);
    assert!(!ended.err.contains("run as root"), "{ended}");
}

#[test]
fn without_proc_no_process_is_reported_as_missing() {
    needs_root!();
    needs!(run(&mut unshared("-m", "umount -l /proc")).status == 0, "needs a /proc that can be taken away");
    for target in ["--pid 1", "init"] {
        let dir = out();
        let to = dir.path().display();
        let script = format!("umount -l /proc && exec \"$0\" watch {target} --time 200ms --out {to}");
        let ended = run(&mut unshared("-m", &script)).exited(1);
        ended.explains(&["cannot read /proc/self", "is /proc mounted?"]);
    }
}

#[test]
fn with_the_proc_of_another_pid_namespace_no_process_is_watched() {
    needs_root!();
    // The second /proc has no number for netfathom.
    for (kind, before) in [("-pf", "true"), ("-m", "unshare -pf mount -t proc proc /proc")] {
        needs!(run(&mut unshared(kind, before)).status == 0, "needs PID namespaces");
        let dir = out();
        let to = dir.path().display();
        let script = format!("{before} && exec \"$0\" watch --pid 1 --time 200ms --out {to}");
        let ended = run(&mut unshared(kind, &script)).exited(1);
        ended.explains(&["/proc is that of another PID namespace", "unshare --mount-proc"]);
    }
}
