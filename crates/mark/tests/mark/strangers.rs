//! Processes that there is no listening to, and those that find no ring where one should be.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::{fs, io, process};

use netfathom_mark::listen::Listener;
use netfathom_mark::{mark, status};
use netfathom_testkit::needs;

use crate::turns::{Program, half, say, wait};

#[test]
fn there_is_no_listening_to_these() {
    let refused = |pid| Listener::of_process(pid).err().unwrap().to_string();
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    assert!(refused(child.id()).contains("no such process"));
    let mut program = Program::start(&mut Command::new("cat"));
    let error = refused(program.pid());
    assert!(error.contains("it has no ring of marks") && error.contains("wait for its first"), "{error}");
    program.go();
    program.until("go");
}

#[test]
#[ignore = "run by a_process_of_another_user_may_not_be_looked_at"]
fn another_user_looks() {
    let mut line = String::new();
    io::stdin().read_line(&mut line).unwrap();
    let error = Listener::of_process(line.trim().parse().unwrap()).err().unwrap().to_string();
    say(&format!("error {error}"));
}

#[test]
fn a_process_of_another_user_may_not_be_looked_at() {
    // SAFETY: no arguments.
    needs!(unsafe { libc::geteuid() } == 0, "needs root, to be another user");
    // By descriptor: the path may lead through a home that only root may enter.
    let binary = File::open(std::env::current_exe().unwrap()).unwrap();
    let mut command = Command::new(format!("/proc/self/fd/{}", binary.as_raw_fd()));
    let name = "strangers::another_user_looks";
    command.args(["--exact", "--ignored", "--nocapture", "--test-threads=1", name]).current_dir("/");
    let mut other = Program::start(command.uid(65_534).gid(65_534));
    other.tell(&process::id().to_string());
    let error = other.until("error");
    assert!(error.contains("be the user that it runs as, or root"), "{error}");
}

#[test]
#[ignore = "run by a_ring_of_another_version_is_named"]
fn of_another_version() {
    mark("makes the ring");
    let ring = own_ring().expect("a ring");
    ring.write_all_at(&99_u32.to_ne_bytes(), 8).unwrap();
    say("ready");
    wait();
}

/// The ring of this process, by its descriptor.
fn own_ring() -> Option<File> {
    let descriptors = fs::read_dir("/proc/self/fd").unwrap().flatten().map(|entry| entry.path());
    let ours = |path: &std::path::PathBuf| {
        fs::read_link(path).is_ok_and(|to| to.to_string_lossy().starts_with("/memfd:netfathom-mark"))
    };
    let path = { descriptors }.find(ours)?;
    Some(File::options().read(true).write(true).open(path).unwrap())
}

#[test]
fn a_ring_of_another_version_is_named() {
    let mut program = Program::start(&mut half("strangers::of_another_version"));
    program.until("ready");
    let error = Listener::of_process(program.pid()).err().unwrap().to_string();
    assert!(error.contains("version 99") && error.contains("build both with the same"), "{error}");
}

#[test]
#[ignore = "run by a_process_without_room_for_a_ring_goes_on"]
fn without_room() {
    (0..5).for_each(|_| mark("not recorded"));
    assert_eq!((status().lost, status().recorded), (5, 0));
    assert!(own_ring().is_none());
}

#[test]
fn a_process_without_room_for_a_ring_goes_on() {
    let half = half("strangers::without_room");
    let mut command = Command::new("/bin/sh");
    // Making a larger file than that would end it by SIGXFSZ.
    command.args(["-c", "ulimit -f 100 && exec \"$0\" \"$@\""]).arg(half.get_program()).args(half.get_args());
    let ended = command.stdin(Stdio::null()).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
}

#[test]
#[ignore = "run by a_descriptor_that_is_no_ring_is_left_alone"]
fn with_a_strange_descriptor() {
    mark("into a ring of its own");
    assert!(own_ring().is_some());
    assert_eq!(status().lost, 0);
}

#[test]
fn a_descriptor_that_is_no_ring_is_left_alone() {
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(b"nfmarks\0 and more that is none of a ring", 0).unwrap();
    for number in [file.as_raw_fd().to_string(), "0".into(), "-1".into(), "99999999999".into(), "7x".into()] {
        let mut command = half("strangers::with_a_strange_descriptor");
        command.env("NETFATHOM_MARK_FD", number).stdin(Stdio::null());
        let fd = file.as_raw_fd();
        let inherited = move || {
            // SAFETY: no pointers.
            assert_eq!(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) }, 0);
            Ok(())
        };
        // SAFETY: it makes one system call.
        unsafe { command.pre_exec(inherited) };
        assert!(command.output().unwrap().status.success());
    }
    let mut text = [0; 40];
    assert_eq!((file.read_at(&mut text, 0).unwrap(), &text[..8]), (40, &b"nfmarks\0"[..]));
}

#[test]
#[ignore = "run by closed_standard_descriptors_stay_closed"]
fn without_standard_descriptors() {
    for fd in 0..3 {
        // SAFETY: nothing else uses it here; the exit status shows the result.
        unsafe { libc::close(fd) };
    }
    mark("makes the ring");
    let taken = own_ring().is_none() || (0..3).any(|fd| fs::metadata(format!("/proc/self/fd/{fd}")).is_ok());
    process::exit(if taken { 3 } else { 42 });
}

#[test]
fn closed_standard_descriptors_stay_closed() {
    let ended = half("strangers::without_standard_descriptors").output().unwrap();
    assert_eq!(ended.status.code(), Some(42));
}

#[test]
#[ignore = "run by what_only_has_the_name_of_a_ring_is_none"]
fn with_the_name_of_a_ring() {
    // SAFETY: the name is a string of C, and the descriptor has no other owner.
    let strange = unsafe { File::from_raw_fd(libc::memfd_create(c"netfathom-mark".as_ptr(), 0)) };
    strange.set_len(1 << 20).unwrap();
    say("ready");
    wait();
}

#[test]
fn what_only_has_the_name_of_a_ring_is_none() {
    let mut program = Program::start(&mut half("strangers::with_the_name_of_a_ring"));
    program.until("ready");
    let error = Listener::of_process(program.pid()).err().unwrap().to_string();
    assert!(error.contains("it has no ring of marks"), "{error}");
}
