//! Runs the binary: never for ever, never with what the tester's own shell has set.

use std::fmt;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_model::record::{Measured, Record, StackResult};
use netfathom_results::store;
use netfathom_sys::netns::Namespace;
use netfathom_testkit::{Star, installed};
use serde::de::DeserializeOwned;
use tempfile::TempDir;

/// Far beyond what any run here takes, on a busy machine too: whoever needs it hangs.
const HANGS: Duration = Duration::from_secs(40);
/// Who has no privilege.
const NOBODY: u32 = 65_534;
/// Short, and no privilege needed.
pub const LOOPBACK: &str = "stack --loopback --tap timestamping --profile constant:1k/100ms";
/// Short, in the lab.
pub const LAB: &str = "stack --lab --tap bpf --profile constant:1k/100ms";

pub struct Ended {
    /// Exit status; 128 and the signal where one ended it, as shells say it.
    pub status: i32,
    pub out: String,
    pub err: String,
}

/// What a failed assertion shows.
impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, out, err } = self;
        write!(f, "exit status {status}: {out}{err}")
    }
}

impl Ended {
    /// A measurement was made, whatever its verdict on this machine.
    pub fn measured(self) -> Self {
        assert!(matches!(self.status, 0 | 3), "{self}");
        self
    }

    /// It ended with this status, and no thread of it panicked.
    #[track_caller]
    pub fn exited(self, status: i32) -> Self {
        assert_eq!(self.status, status, "{self}");
        assert!(!self.err.contains("panicked"), "{self}");
        self
    }

    /// It ended well, and complained of nothing.
    #[track_caller]
    pub fn quietly(self) -> Self {
        assert_eq!((self.status, self.err.as_str()), (0, ""), "{self}");
        self
    }

    /// All of these are in its standard output, wherever that breaks its lines.
    #[track_caller]
    pub fn shows(self, parts: &[&str]) -> Self {
        self.all_in(&self.out, parts);
        self
    }

    /// All of these are in its standard error.
    #[track_caller]
    pub fn explains(self, parts: &[&str]) -> Self {
        self.all_in(&self.err, parts);
        self
    }

    #[track_caller]
    fn all_in(&self, text: &str, parts: &[&str]) {
        let on_one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in parts {
            assert!(text.contains(part) || on_one_line.contains(part), "`{part}` is missing: {self}");
        }
    }

    /// Its standard output, which is one document.
    #[track_caller]
    pub fn json<T: DeserializeOwned>(&self) -> T {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self}"))
    }
}

/// The binary with arguments that hold no blanks.
pub fn netfathom(args: &str) -> Command {
    let mut command = clean(Path::new(env!("CARGO_BIN_EXE_netfathom")));
    command.args(args.split_whitespace());
    command
}

/// The same with its runs in a directory.
pub fn netfathom_to(out: &Path, args: &str) -> Command {
    let mut command = netfathom(args);
    command.arg("--out").arg(out);
    command
}

/// A shell, in which `$0` is the binary.
pub fn shell(script: &str) -> Command {
    let mut command = clean(Path::new("/bin/sh"));
    command.args(["-c", script, env!("CARGO_BIN_EXE_netfathom")]);
    command
}

/// A shell in a namespace of its own, of this kind: nothing that is done in it stays.
pub fn unshared(kind: &str, script: &str) -> Command {
    let inner = shell(script);
    let mut command = clean(Path::new("unshare"));
    command.arg(kind).arg(inner.get_program()).args(inner.get_args());
    command
}

fn clean(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove("NO_COLOR").env_remove("LINES").env("COLUMNS", "100").stdin(Stdio::null());
    command
}

/// The binary without any privilege, also where the tests have them all.
pub fn unprivileged(args: &str) -> Command {
    // By descriptor: the path may lead through a home that only root may enter.
    static BINARY: OnceLock<std::fs::File> = OnceLock::new();
    let binary = BINARY.get_or_init(|| std::fs::File::open(env!("CARGO_BIN_EXE_netfathom")).unwrap());
    let mut command = clean(&PathBuf::from(format!("/proc/self/fd/{}", binary.as_raw_fd())));
    command.arg0("netfathom").args(args.split_whitespace()).env("HOME", "/nonexistent").current_dir("/");
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// It ends with the thread that starts it: a test that fails leaves none.
pub fn start(command: &mut Command) -> Child {
    netfathom_sys::child::asked_to_end_with_this_thread(command);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Starts it on a host of the test, which has to end it.
pub fn start_on(host: &Namespace, command: &mut Command) -> Child {
    Star::spawn(host, command.stdout(Stdio::piped()).stderr(Stdio::piped()))
}

/// Waits for the end of what [`start`] has started.
pub fn end(child: Child) -> Ended {
    end_within(child, HANGS)
}

/// Waits for the end, but not longer.
pub fn end_within(mut child: Child, limit: Duration) -> Ended {
    let out = child.stdout.take().map(drain);
    let err = child.stderr.take().map(drain);
    let deadline = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            kill(&mut child);
            panic!("still there after {limit:?}");
        }
        thread::sleep(Duration::from_millis(5));
    };
    let text = |pipe: Option<thread::JoinHandle<String>>| pipe.map(|p| p.join().unwrap()).unwrap_or_default();
    use std::os::unix::process::ExitStatusExt;
    let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap());
    Ended { status, out: text(out), err: text(err) }
}

pub fn run(command: &mut Command) -> Ended {
    end(start(command))
}

/// Runs the binary on a terminal of its own, which script(1) makes; the arguments are a shell's. `None` after saying so where
/// there is none.
pub fn on_terminal(test: &str, args: &str) -> Option<Ended> {
    if !installed(test, &["script"], "bsdutils") {
        return None;
    }
    let inner = format!("stty rows 24 columns 80; {} {args}", env!("CARGO_BIN_EXE_netfathom"));
    Some(run(shell(&format!("script -qec '{inner}' /dev/null")).env("TERM", "xterm")))
}

fn drain(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).unwrap();
        text
    })
}

/// Kills a process and waits for its end.
pub fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Sends a signal by its name, to a process that the test has started.
pub fn signal(name: &str, child: &Child) {
    let script = format!("kill -{name} {}", child.id());
    assert!(shell(&script).status().unwrap().success(), "{script}");
}

/// Kills processes that the test has started, by their numbers.
pub fn kill_9(pids: &str) {
    assert!(shell(&format!("kill -9 {pids}")).status().unwrap().success(), "{pids}");
}

/// The processes that a process has started and that have not ended.
pub fn children(pid: u32) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Waits until something is there.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + HANGS;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until this holds.
pub fn until_holds(what: &str, mut holds: impl FnMut() -> bool) {
    until(what, || holds().then_some(()));
}

/// The result of some work, beside which another thread runs until its flag is set. A failure of the work sets it, too.
pub fn beside<T>(other: impl FnOnce(&AtomicBool) + Send, work: impl FnOnce() -> T) -> T {
    struct Sets<'a>(&'a AtomicBool);
    impl Drop for Sets<'_> {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| other(&done));
        let _ends = Sets(&done);
        work()
    })
}

/// A directory for runs, writable for the user nobody, too.
pub fn out() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    dir
}

pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A record of a real run, by its measurement.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../results/tests/fixtures/{name}.json"))
}

/// The names of what is in a directory, in order.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

pub fn runs(out: &Path) -> Vec<PathBuf> {
    let mut runs: Vec<_> = std::fs::read_dir(out).unwrap().map(|e| e.unwrap().path()).collect();
    runs.sort();
    runs
}

pub fn only_run(out: &Path) -> PathBuf {
    let runs = runs(out);
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs.into_iter().next().unwrap()
}

/// The record of the only run in it, once there is one.
pub fn record(out: &Path) -> Option<Record> {
    let run = runs(out).into_iter().next()?;
    run.join(store::RECORD_FILE).exists().then(|| store::read(&run).unwrap())
}

/// A measurement in a directory of its own, and its record.
#[track_caller]
pub fn recorded(command: &mut Command) -> (Ended, Record) {
    let dir = out();
    let ended = run(command.arg("--out").arg(dir.path())).measured();
    let record = record(dir.path()).expect("a record");
    (ended, record)
}

/// Waits until a trial has ended and is on disk.
pub fn first_trial(out: &Path) -> Record {
    until("the first trial", || record(out).filter(|r| !result(r).trials.is_empty()))
}

pub fn result(record: &Record) -> &StackResult {
    StackResult::of(&record.measurement).expect("a stack run")
}
