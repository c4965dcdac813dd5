use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use netfathom_testkit::skip;

use super::*;
use crate::clock;
use crate::process::reap;

const OPENAT: u32 = libc::SYS_openat as u32;
const EXECVE: u32 = libc::SYS_execve as u32;

type Seen = Arc<Mutex<Vec<(u64, u32, io::Result<std::path::PathBuf>)>>>;

macro_rules! needs_notifications {
    () => {
        if let Err(e) = probe() {
            skip!("seccomp does not notify here: {e}");
        }
    };
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdout(Stdio::piped());
    command
}

fn start(command: &mut Command) -> (Child, Notifier, Seen) {
    let seen = Seen::default();
    let theirs = Arc::clone(&seen);
    let each = move |call: &Call<'_>| {
        let path = call.path(usize::from(call.number() == OPENAT));
        theirs.lock().unwrap().push((call.at_ns, call.number(), path));
    };
    let notifier = Notifier::of(command, &[OPENAT, EXECVE], each).unwrap();
    (command.spawn().unwrap(), notifier, seen)
}

fn wait_until_over(notifier: &Notifier) {
    let until = Instant::now() + Duration::from_secs(30);
    while !notifier.is_over() && Instant::now() < until {
        thread::sleep(Duration::from_millis(2));
    }
    assert!(notifier.is_over());
}

#[test]
fn calls_of_all_descendants_are_notified_and_made() {
    needs_notifications!();
    let before = clock::monotonic_ns();
    // One is not there, one is opened by a descendant that stays behind.
    let script = "cat /nowhere/at/all 2> /dev/null; echo done; (sleep 0.3; cat /proc/version > /dev/null) &";
    let mut command = shell(script);
    let (child, notifier, seen) = start(&mut command);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"done\n"[..]));
    assert!(!seen.lock().unwrap().is_empty());
    wait_until_over(&notifier);
    let after = clock::monotonic_ns();
    let seen = seen.lock().unwrap();
    let paths = |number| -> Vec<&Path> {
        let of = seen.iter().filter(move |(_, of, _)| *of == number);
        of.map(|(_, _, path)| path.as_deref().unwrap()).collect()
    };
    let at = |path: &str| paths(OPENAT).iter().filter(|seen| **seen == Path::new(path)).count();
    // A shell gives what it starts in the background nothing to read, by that name.
    let counts = ["/nowhere/at/all", "/proc/version", "/dev/null"].map(at);
    assert_eq!(counts, [1, 1, 3]);
    let programs = paths(EXECVE);
    // A program is looked for in folder after folder.
    assert!(["sh", "cat", "sleep"].iter().all(|name| programs.iter().any(|path| path.ends_with(name))));
    assert!(
        seen.is_sorted_by_key(|(at_ns, ..)| *at_ns) && seen[0].0 > before && seen[seen.len() - 1].0 < after
    );
}

#[test]
fn a_path_is_read_over_the_edge_of_a_page_and_one_that_is_none_is_an_error() {
    needs_notifications!();
    // SAFETY: a new mapping at an address of the kernel's choice; half of it is taken away again.
    let page = unsafe {
        let both = libc::PROT_READ | libc::PROT_WRITE;
        let at =
            libc::mmap(std::ptr::null_mut(), 3 * PAGE, both, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        assert_ne!(at, libc::MAP_FAILED);
        libc::munmap(at.byte_add(2 * PAGE), PAGE);
        at.cast::<u8>()
    };
    const PAGE: usize = 4096;
    let over = c"/over/the/edge";
    // SAFETY: within the two pages that are left.
    let [over_edge, at_end] = unsafe {
        let over_edge = page.add(PAGE - 5);
        over_edge.copy_from_nonoverlapping(over.as_ptr().cast(), over.count_bytes() + 1);
        let at_end = page.add(2 * PAGE - 2);
        at_end.copy_from_nonoverlapping(c"e".as_ptr().cast(), 2);
        // No zero follows it.
        [over_edge as usize, at_end as usize]
    };
    let mut seen = Vec::new();
    let open = |address: usize| {
        // SAFETY: the kernel checks the address.
        unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, address, libc::O_RDONLY) }
    };
    let each = |call: &Call<'_>| seen.push(call.path(1).map_err(|e| e.raw_os_error()));
    let opened = in_a_thread(&[OPENAT], each, || [over_edge, at_end, 16].map(open)).unwrap();
    assert_eq!(opened, [-1, -1, -1]);
    let ok = |path: &str| Ok(path.into());
    assert_eq!(seen, [ok("/over/the/edge"), ok("e"), Err(Some(libc::EFAULT))]);
    // SAFETY: the mapping made above.
    unsafe { libc::munmap(page.cast(), 2 * PAGE) };
}

#[test]
fn a_program_that_does_not_start_leaves_no_thread() {
    needs_notifications!();
    let mut command = Command::new("/nowhere/at/all");
    let notifier = Notifier::of(&mut command, &[EXECVE], |_| {}).unwrap();
    assert_eq!(command.spawn().unwrap_err().kind(), io::ErrorKind::NotFound);
    // It was started far enough to notify of its execve, and then it was over.
    wait_until_over(&notifier);
    let notifier = Notifier::of(&mut shell("exit"), &[EXECVE], |_| {}).unwrap();
    notifier.receiving.shutdown(std::net::Shutdown::Both).unwrap();
    wait_until_over(&notifier);
}

#[test]
fn sendmsg_itself_can_be_notified() {
    needs_notifications!();
    let both = [libc::SYS_sendmsg, libc::SYS_sendmmsg].map(|number| number as u32);
    for number in both {
        let mut command = shell("exit 3");
        let _notifier = Notifier::of(&mut command, &[number], |_| {}).unwrap();
        assert_eq!(reap(command.spawn().unwrap()).unwrap().status.code(), Some(3));
    }
    let refused = Notifier::of(&mut shell("exit"), &both, |_| {}).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
}
