//! What was changed between two runs, seen by `compare` because the records have it.

use netfathom_results::store;
use netfathom_testkit::needs_root;

use super::{SHORT, compare};
use crate::child::{out, run, unshared};

/// In a network namespace of its own, so that no sysctl of the host is touched.
#[test]
fn a_sysctl_that_was_changed_between_two_runs_is_the_first_thing_shown() {
    needs_root!();
    let dir = out();
    let over_tcp = SHORT.replace("unix", "tcp");
    let script = format!(
        "set -e; ip link set lo up; cd '{}'; measure() {{ \"$0\" {over_tcp} --quiet --out $1 || test $? = 3; }}; \
         cat /proc/sys/net/ipv4/tcp_wmem; measure before; \
         echo '4096 4096 4096' > /proc/sys/net/ipv4/tcp_wmem; measure after",
        dir.path().display()
    );
    let made = run(&mut unshared("--net", &script)).exited(0);
    let usual = made.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let only = |name: &str| std::fs::read_dir(dir.path().join(name)).unwrap().next().unwrap().unwrap().path();
    let (before, after) = (only("before"), only("after"));
    let mut shown = compare(&[&before, &after], "--force");
    shown.out.truncate(shown.out.find("Main quantities").expect("a table after it"));
    let change = format!("net.ipv4.tcp_wmem {usual} \u{2192} 4096 4096 4096");
    shown.shows(&[&format!("changed {change} (limits TCP send buffers)")]);
    let command = store::read(&before).unwrap().command;
    assert!(command.starts_with("netfathom message pingpong") && command.contains("--over tcp"), "{command}");
}
