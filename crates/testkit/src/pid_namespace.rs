//! Tests that run once more in a PID namespace of their own, as in a container.

use std::env;
use std::process::{Command, Stdio};

use crate::skipped;

const WITHIN: &str = "NETFATHOM_TEST_PID_NAMESPACE";

/// Whether this is the run of a test in there.
pub fn in_pid_namespace() -> bool {
    env::var_os(WITHIN).is_some()
}

/// Runs a test of this program in there, by its name without the crate.
///
/// # Panics
/// If it fails.
pub fn again_in_pid_namespace(test: &str) {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc"]).arg(env::current_exe().expect("the test's program"));
    // `scripts/test` counts what it skips.
    command.args([test, "--exact", "--nocapture"]).env(WITHIN, "1").stderr(Stdio::inherit());
    match command.output() {
        Ok(output) => {
            let out = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && out.contains("1 passed"), "{out}");
        }
        Err(e) => skipped(test, &format!("unshare: {e}")),
    }
}
