//! What netfathom's tests share. A dev-dependency only.

use std::io::Write;

use netfathom_sys::capability::{Capability, effective};

/// Says that a test is skipped and why, past the test harness, which keeps the output of
/// tests that pass to itself. `scripts/test` counts these lines: skipped is not passed.
pub fn skipped(test: &str, why: &str) {
    // Nobody reads standard error: then nobody needs to know.
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
}

/// Whether labs and kernel programs can be made; says so for the test if not.
#[must_use]
pub fn privileged(test: &str) -> bool {
    let needed = [Capability::NetAdmin, Capability::SysAdmin];
    let has = effective().is_ok_and(|have| needed.iter().all(|c| have.contains(c)));
    if !has {
        skipped(test, "needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN)");
    }
    has
}
