//! What netfathom's tests share. A dev-dependency only.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use netfathom_sys::capability::{Capability, effective};

pub mod browser;
mod burner;
pub mod docs;
pub mod emulator;
mod group;
mod hosts;
mod killed;
pub mod layers;
mod pid_namespace;
mod processors;
mod readers;
mod star;

pub use burner::Burner;
pub use group::Group;
pub use hosts::{DEVICE, ThreeHosts, TwoHosts, host};
pub use killed::Killed;
pub use pid_namespace::{again_in_pid_namespace, in_pid_namespace};
pub use processors::{unless_disturbed, unless_disturbed_beside};
pub use readers::python;
pub use star::{Star, ip};

/// Says that a test is skipped and why, past the test harness, which keeps the output of
/// tests that pass to itself. `scripts/test` counts these lines, so a test says it once:
/// skipped is not passed.
pub fn skipped(test: &str, why: &str) {
    // At once, so that no other output gets in between.
    let line = format!("skipped: {test}: {why}\n");
    // If standard error has no reader, the error does not matter.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Copies a program that is to be executed. Another process does it: if this one had the copy open to write, so would what its
/// other threads fork meanwhile, and until that has executed its program the copy cannot be (ETXTBSY).
pub fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let copied = Command::new("cp").arg(from.as_ref()).arg(to.as_ref()).status().unwrap();
    assert!(copied.success(), "cp {}: {copied}", from.as_ref().display());
}

/// How many of these events may go unseen by kernel programs: certain tasks of some machines keep programs off their CPU.
pub const fn unseen(events: u64) -> u64 {
    events / 20
}

/// Whether this many are `expected`, but for those that may go unseen.
pub fn nearly(number: u64, expected: u64) -> bool {
    (expected - unseen(expected)..=expected).contains(&number)
}

/// Whether labs and kernel programs can be made; says so for the test if not.
pub fn privileged(test: &str) -> bool {
    let needed = [Capability::NetAdmin, Capability::SysAdmin];
    let has = effective().is_ok_and(|have| needed.iter().all(|c| have.contains(c)));
    if !has {
        skipped(test, "needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN)");
    }
    has
}

/// Whether all of these programs are there; says so for the test if not.
pub fn installed(test: &str, programs: &[&str], packages: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places: Vec<_> = std::env::split_paths(&path).chain(["/usr/sbin".into()]).collect();
    let is_missing = |program: &&&str| !places.iter().any(|place| place.join(program).is_file());
    let missing: Vec<&str> = programs.iter().filter(is_missing).copied().collect();
    if !missing.is_empty() {
        skipped(test, &format!("needs {}: apt-get install {packages}", missing.join(", ")));
    }
    missing.is_empty()
}

/// Whether times can be compared: in an emulator a call takes as long as what is planted, and no two clocks agree. Says so
/// for the test if not.
pub fn has_times(test: &str) -> bool {
    let has = std::env::var_os("NETFATHOM_EMULATED").is_none();
    if !has {
        skipped(test, "compares times, and those of an emulator are its own");
    }
    has
}

/// The name of the calling test.
#[macro_export]
macro_rules! test_name {
    () => {{
        fn the_calling_test() {}
        std::any::type_name_of_val(&the_calling_test).trim_end_matches("::the_calling_test")
    }};
}

/// Ends a test that cannot run here, and says why.
#[macro_export]
macro_rules! skip {
    ($($why:tt)+) => {
        return $crate::skipped($crate::test_name!(), &format_args!($($why)+).to_string())
    };
}

/// Ends a test where this does not hold, and says why.
#[macro_export]
macro_rules! needs {
    ($holds:expr, $($why:tt)+) => {
        if !$holds {
            $crate::skip!($($why)+);
        }
    };
}

/// Ends a test where labs and kernel programs cannot be made, and says so.
#[macro_export]
macro_rules! needs_root {
    () => {
        if !$crate::privileged($crate::test_name!()) {
            return;
        }
    };
}

/// The same, and keeps the others waiting that are to be [`alone`], until the test ends.
#[macro_export]
macro_rules! needs_root_alone {
    () => {
        $crate::needs_root!();
        let _alone = $crate::alone();
    };
}

/// Ends a test where one of these programs is missing, and says so.
#[macro_export]
macro_rules! needs_programs {
    ($programs:expr, $packages:expr) => {
        if !$crate::installed($crate::test_name!(), &$programs, $packages) {
            return;
        }
    };
}

/// Ends a test where times cannot be compared, and says so.
#[macro_export]
macro_rules! needs_times {
    () => {
        if !$crate::has_times($crate::test_name!()) {
            return;
        }
    };
}

static CPUS: RwLock<()> = RwLock::new(());

/// Keeps the other tests of this binary waiting that ask for the same: measurements do not share their processors.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    CPUS.write().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps those waiting that ask to be alone.
pub fn beside_others() -> RwLockReadGuard<'static, ()> {
    CPUS.read().unwrap_or_else(PoisonError::into_inner)
}
