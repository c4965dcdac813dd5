//! The DaemonSet of `netfathom watch`.

use super::*;

const MANIFEST: &str = include_str!("../../../../../packaging/kubernetes/watch.yaml");

/// All but its target: that is refused last.
#[test]
fn the_arguments_of_the_daemon_set_are_those_of_watch() {
    let dir = out();
    let list = MANIFEST.lines().find_map(|line| line.trim().strip_prefix("args: [")).unwrap();
    let args = list.trim_end_matches(']').replace([',', '"'], "");
    // Beyond all PIDs that there can be.
    let args = args.replace("nginx", "4194305").replace("0.0.0.0:9435", "127.0.0.1:0");
    let args = args.replace("/runs", dir.path().to_str().unwrap());
    refused_for(&mut netfathom(&args), 2, &["--pid 4194305"]);
}
