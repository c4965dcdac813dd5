//! What libbpf writes while it works. It goes into errors rather than to standard error; with
//! NETFATHOM_BPF_LOG=1 it goes to both.

use std::cell::RefCell;
use std::env;
use std::io::Write;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use libbpf_rs::{PrintLevel, set_print};

/// Set to `1` it lets libbpf write to standard error.
const VARIABLE: &str = "NETFATHOM_BPF_LOG";

static IS_SHOWN: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// libbpf writes from the thread that calls it, so that loads side by side do not mix.
    static KEPT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Takes over what libbpf writes, in the whole process. To be called before libbpf is.
pub(crate) fn take_over() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        IS_SHOWN.store(env::var_os(VARIABLE).is_some_and(|value| value == "1"), Relaxed);
        set_print(Some((PrintLevel::Info, write)));
    });
}

fn write(_: PrintLevel, text: String) {
    if IS_SHOWN.load(Relaxed) {
        // Without standard error there is no reader.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
    KEPT.with_borrow_mut(|kept| kept.iter_mut().for_each(|kept| kept.push_str(&text)));
}

/// Does the work, and returns what libbpf wrote meanwhile in this thread.
pub(crate) fn keeping<T>(work: impl FnOnce() -> T) -> (T, String) {
    take_over();
    KEPT.set(Some(String::new()));
    let result = work();
    (result, KEPT.take().unwrap_or_default())
}

/// The reason in what libbpf wrote: the last line of the verifier about the program, before its
/// statistics; without a verifier the first thing that libbpf complains about.
pub(crate) fn reason(log: &str) -> Option<String> {
    const BEGIN: &str = "-- BEGIN PROG LOAD LOG --";
    const END: &str = "-- END PROG LOAD LOG --";
    if let Some((_, rest)) = log.split_once(BEGIN) {
        let lines = rest.split_once(END).map_or(rest, |(lines, _)| lines);
        return lines
            .lines()
            .rev()
            .find(|line| is_reason(line))
            .map(|line| format!("verifier: {}", line.trim()));
    }
    // That it failed is known.
    let says_more =
        |line: &&str| !["program load failed", "failed to load"].iter().any(|known| line.contains(known));
    log.lines().find(says_more).map(|line| line.trim().to_owned())
}

/// Whether it is none of the lines that the verifier ends with whatever happened.
fn is_reason(line: &str) -> bool {
    let statistics = ["processed ", "verification time ", "stack depth "];
    let line = line.trim();
    !line.is_empty() && !statistics.iter().any(|word| line.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSED: &str = "libbpf: prog 'redirect': BPF program load failed: Permission denied\n\
        libbpf: prog 'redirect': -- BEGIN PROG LOAD LOG --\n\
        Func#1 is safe for any args that match its prototype\n\
        58: (0f) r1 += r5\n\
        value -9223372036854775800 makes pkt pointer be out of bounds\n\
        verification time 312 usec\n\
        processed 77 insns (limit 1000000) max_states_per_insn 0 total_states 5 peak_states 5 mark_read 3\n\
        -- END PROG LOAD LOG --\n\
        libbpf: prog 'redirect': failed to load: -13\n\
        libbpf: failed to load object 'sink'\n";

    #[test]
    fn the_reason_is_the_last_line_before_the_statistics() {
        let expected = "verifier: value -9223372036854775800 makes pkt pointer be out of bounds";
        assert_eq!(reason(REFUSED).as_deref(), Some(expected));
    }

    #[test]
    fn without_a_verifier_it_is_what_libbpf_complains_about() {
        let log = "libbpf: map 'ring': failed to create: -EINVAL\nlibbpf: failed to load object 'tree'\n";
        assert_eq!(reason(log).as_deref(), Some("libbpf: map 'ring': failed to create: -EINVAL"));
        assert_eq!(reason(""), None);
    }

    #[test]
    fn an_empty_log_of_the_verifier_is_no_reason() {
        let log = "libbpf: prog 'a': BPF program load failed: -EPERM\n\
            libbpf: prog 'a': -- BEGIN PROG LOAD LOG --\nprocessed 0 insns\n-- END PROG LOAD LOG --\n";
        assert_eq!(reason(log), None);
        let without =
            "libbpf: prog 'a': BPF program load failed: -EPERM\nlibbpf: prog 'a': failed to load: -1\n";
        assert_eq!(reason(without), None);
    }

    #[test]
    fn what_is_written_is_kept_for_the_thread_that_asked() {
        write(PrintLevel::Warn, "before\n".into());
        let ((), kept) = keeping(|| {
            write(PrintLevel::Warn, "one\n".into());
            let other = std::thread::spawn(|| write(PrintLevel::Warn, "elsewhere\n".into()));
            assert!(other.join().is_ok());
            write(PrintLevel::Info, "two\n".into());
        });
        assert_eq!(kept, "one\ntwo\n");
        assert_eq!(keeping(|| ()).1, "");
    }
}
