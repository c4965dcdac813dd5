use std::env::current_exe;
use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::process::{Ended, reap};
use netfathom_testkit::{needs_root, needs_times, privileged};

use super::*;

mod marks;
mod spent;
mod waits;

const PATIENCE: Duration = Duration::from_secs(2);
/// Says which of the tasks below this program is started for.
const TASK: &str = "NETFATHOM_TREE_TASK";

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdout(Stdio::null());
    command
}

/// This program once more, for a task.
fn ourselves(task: &str) -> Command {
    let mut command = Command::new(current_exe().unwrap());
    command.args(["--exact", "tree::tests::a_task_of_another_test"]).env(TASK, task).stdout(Stdio::null());
    command
}

#[test]
fn a_task_of_another_test() {
    match std::env::var(TASK).as_deref() {
        // The leader waits, and another thread becomes a program: it gets the leader's number.
        Ok("exec in a thread") => {
            let become_cat = || panic!("{}", Command::new("cat").arg("/dev/null").exec());
            thread::spawn(become_cat).join().unwrap();
        }
        Ok("open what is not in memory") => open_from_a_page_that_is_not_there(),
        Ok("threads") => {
            let burn =
                || std::hint::black_box((0..3_000_000u64).fold(0, |sum, n| std::hint::black_box(sum ^ n)));
            thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(burn))));
            // After the end of four threads.
            fs::read("/dev/null").unwrap();
        }
        _ => {}
    }
}

/// Opens `known` by a path in a page of a file that is mapped but not read, and then nothing at all.
fn open_from_a_page_that_is_not_there() {
    fs::write("page", b"./known\0").unwrap();
    let file = fs::File::open("page").unwrap();
    // SAFETY: a new mapping at an address of the kernel's choice, which is not read here.
    let path = unsafe {
        let path =
            libc::mmap(std::ptr::null_mut(), 8, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0);
        assert_ne!(path, libc::MAP_FAILED);
        path as usize
    };
    let open = |path: usize| {
        // SAFETY: the kernel checks the address.
        unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, libc::O_RDONLY) }
    };
    assert!(open(path) >= 0 && open(16) < 0);
}

fn armed(watching: &Watching) -> Tree {
    let mut tree = Tree::attach(watching).unwrap();
    tree.arm(true).unwrap();
    tree
}

/// How many links the kernel has for the programs at system calls.
fn links_at_calls(tree: &Tree) -> usize {
    let at_calls =
        |program: &libbpf_rs::Program<'_>| tree.at_calls.iter().any(|name| program.name() == *name);
    let number = |program: libbpf_rs::Program<'_>| -> u32 {
        let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", program.as_fd().as_raw_fd())).unwrap();
        let number = text.lines().find_map(|line| line.strip_prefix("prog_id:")).unwrap();
        number.trim().parse().unwrap()
    };
    let numbers: Vec<u32> = tree.object.progs().filter(at_calls).map(number).collect();
    libbpf_rs::query::LinkInfoIter::default().filter(|link| numbers.contains(&link.prog_id)).count()
}

fn start(tree: &Tree, command: &mut Command) -> Child {
    tree.adopt_next_child();
    // A thread is no child.
    thread::spawn(|| ()).join().unwrap();
    command.spawn().unwrap()
}

fn run(tree: &Tree, command: &mut Command) -> (Ended, Spent) {
    let ended = reap(start(tree, command)).unwrap();
    tree.settle(PATIENCE).unwrap();
    (ended, tree.spent())
}

fn opened(events: &[TreeEvent]) -> Vec<(usize, &Path)> {
    let opened = events.iter().filter_map(|event| match &event.what {
        What::Opened { which, path, .. } => Some((*which, path.as_path())),
        _ => None,
    });
    opened.collect()
}

/// A folder that is gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("netfathom-tree-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "x").unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}
