//! Limits of this process (getrlimit(2)): whether they are enough for a measurement, and what to do about an error that
//! comes from one.
//!
//! The limit of open files is not raised here, though the hard one would often allow it: programs that are started
//! inherit it, and those that use select(2) break beyond 1024, which is the usual soft limit and far more than a
//! measurement needs.

use rustix::process::{Resource, getrlimit};

/// A measurement with all its taps has some 50 descriptors, and each worker one or two.
const LEAST_OPEN_FILES: u64 = 128;
/// What is mapped, most of it never used: threads, their heaps, maps of the kernel programs, the ring of a capture. With
/// less a tap may fail where another one would not, and the next time not.
const LEAST_ADDRESS_SPACE: u64 = 1 << 30;

/// A limit is too low for any measurement.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    #[error(
        "too few open files are allowed: a measurement needs {LEAST_OPEN_FILES}; raise ulimit -n (now {now})"
    )]
    OpenFiles { now: u64 },
    #[error(
        "too little memory is allowed: a measurement maps up to {} MiB; raise ulimit -v (now {} KiB)",
        LEAST_ADDRESS_SPACE >> 20, .now_bytes >> 10
    )]
    AddressSpace { now_bytes: u64 },
}

/// Whether a measurement can be made. Without this look it would depend on the limit which of its parts fails first: a
/// tap would be left out, or the run would end in the middle.
pub fn check() -> Result<(), LimitError> {
    if let Some(now) = open_files().filter(|&now| now < LEAST_OPEN_FILES) {
        return Err(LimitError::OpenFiles { now });
    }
    match address_space() {
        Some(now_bytes) if now_bytes < LEAST_ADDRESS_SPACE => Err(LimitError::AddressSpace { now_bytes }),
        _ => Ok(()),
    }
}

/// `None`: unlimited.
fn open_files() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// In bytes; `None`: unlimited.
fn address_space() -> Option<u64> {
    getrlimit(Resource::As).current
}

/// An error in words, which ends with a remedy for what was tried; where a limit was the cause, with one for that.
pub fn explained(text: String) -> String {
    let cut = |mark: &str| text.find(mark).map(|at| &text[..at + mark.len()]);
    if let Some(what) = cut("(os error 24)").or_else(|| cut("EMFILE")) {
        let now = open_files().map_or_else(|| "unlimited".into(), |now| now.to_string());
        return format!("{what}: raise ulimit -n (now {now})");
    }
    if let Some(what) = cut("(os error 23)") {
        return format!("{what}: the machine has no more of them; raise sysctl fs.file-max");
    }
    let out_of_memory =
        cut("(os error 12)").or_else(|| cut("(os error 11)").filter(|what| what.contains("thread")));
    match (out_of_memory, address_space()) {
        (Some(what), Some(now)) => format!("{what}: raise ulimit -v (now {} KiB)", now >> 10),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_comes_from_a_limit_names_it() {
        let now = open_files().map_or_else(|| "unlimited".into(), |now| now.to_string());
        let explain = |text: &str| explained(text.into());
        for (text, begins) in [
            (
                "cannot read /proc/x: Too many open files (os error 24); is /proc mounted?",
                "cannot read /proc/x: ",
            ),
            ("cannot attach: -EMFILE; load fewer", "cannot attach: -EMFILE"),
        ] {
            let message = explain(text);
            assert!(
                message.starts_with(begins) && message.ends_with(&format!(": raise ulimit -n (now {now})")),
                "{message}"
            );
        }
        assert!(
            explain("x: Too many open files in system (os error 23); y")
                .ends_with("raise sysctl fs.file-max")
        );
        // An error with another cause keeps its remedy.
        let other = "cannot read x: Permission denied (os error 13); ask its owner";
        assert_eq!(explain(other), other);
    }
}
