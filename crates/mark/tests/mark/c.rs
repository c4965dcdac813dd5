//! Programs in C and C++, compiled with the header by the system's own compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

use netfathom_mark::listen::Listener;
use netfathom_testkit::{needs, needs_programs};
use tempfile::TempDir;

use crate::turns::{Program, collect, names};

/// The program of `tests/c`, in a directory that is gone with it.
struct Compiled {
    dir: TempDir,
}

impl Compiled {
    /// Compiles the program with the given compiler and options.
    fn by(compiler: &str, options: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut command = Command::new(compiler);
        command.args(["-O2", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-pthread"]).args(options);
        command.arg("-I").arg(package.join("include"));
        command.args(["marks.c", "elsewhere.c"].map(|file| package.join("tests/c").join(file)));
        let made = command.arg("-o").arg(dir.path().join("marks")).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Self { dir }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("marks")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.path());
        command.env_remove("NETFATHOM_MARK_FD");
        command
    }
}

/// What the program marks once it may go on.
const MARKS: [&str; 8] = [
    "c: at a time of its own",
    "c: main",
    "c: elsewhere",
    "c: thread",
    "c: handler",
    "c: child",
    "c: bytes",
    "c: a name that is longer than what is …",
];

fn speaks_to_the_listener(compiled: &Compiled) {
    let mut program = Program::start(&mut compiled.command());
    program.until("ready");
    let mut listener = Listener::of_process(program.pid()).unwrap();
    program.go();
    let child: u32 = program.until("child").parse().unwrap();
    program.until("ready");
    let mut marks = Vec::new();
    listener.drain(&mut marks);
    // The one with a time from before anybody listened is of no account.
    assert_eq!(names(&marks), MARKS[1..]);
    assert_eq!((listener.lost(), listener.damaged()), (0, 0));
    let main = (program.pid(), program.pid());
    let owners: Vec<_> = marks.iter().map(|m| (m.process, m.thread)).collect();
    let other = owners[2];
    assert!(other.0 == program.pid() && other.1 != program.pid(), "{other:?}");
    assert_eq!(owners, [main, main, other, main, (child, child), main, main]);
    assert_eq!(marks.iter().filter(|m| m.cut).count(), 1);
    program.go();
    assert_eq!(program.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_program_in_c_speaks_to_the_listener() {
    speaks_to_the_listener(&Compiled::by("cc", &["-std=gnu11"]));
}

#[test]
fn so_does_one_that_was_not_optimised_and_one_in_c_plus_plus() {
    speaks_to_the_listener(&Compiled::by("cc", &["-std=gnu17", "-O0", "-fPIC"]));
    needs_programs!(["c++"], "g++");
    speaks_to_the_listener(&Compiled::by("c++", &["-x", "c++", "-std=c++11"]));
}

#[test]
fn a_started_program_in_c_records_from_its_first_mark_on() {
    let compiled = Compiled::by("cc", &[]);
    let mut listener = Listener::create().unwrap();
    let mut program = Program::start(listener.attach(&mut compiled.command()));
    program.until("ready");
    program.go();
    program.until("ready");
    let mut marks = Vec::new();
    listener.drain(&mut marks);
    assert_eq!(names(&marks), [&[MARKS[0], "c: the first"][..], &MARKS[1..]].concat());
    assert_eq!((marks[0].at_ns, listener.lost()), (12_345, 0));
}

#[test]
fn many_marks_of_a_program_in_c_are_there_or_counted() {
    let compiled = Compiled::by("cc", &[]);
    let mut program = Program::start(compiled.command().arg("500000"));
    program.until("ready");
    let mut listener = Listener::of_process(program.pid()).unwrap();
    program.go();
    let marks = collect(&mut listener, 500_000);
    program.until("ready");
    assert_eq!(marks.len() as u64 + listener.lost(), 500_000);
    assert!(marks.is_sorted_by_key(|m| m.at_ns) && marks.iter().all(|m| m.name == "c: one of many"));
}

#[test]
fn a_mark_in_c_is_a_probe_where_that_is_asked_for() {
    let header =
        Command::new("cc").args(["-E", "-include", "sys/sdt.h", "-x", "c", "/dev/null"]).output().unwrap();
    needs!(header.status.success(), "there is no <sys/sdt.h>: install systemtap-sdt-dev");
    let compiled = Compiled::by("cc", &["-DNETFATHOM_MARK_USDT"]);
    let notes = Command::new("readelf").arg("-n").arg(compiled.path()).output().unwrap();
    let notes = String::from_utf8_lossy(&notes.stdout);
    let probes = notes.matches("Provider: netfathom").count();
    assert!(probes > 0 && notes.matches("Name: mark").count() == probes, "{notes}");
    speaks_to_the_listener(&compiled);
}
