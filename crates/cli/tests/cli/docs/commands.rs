//! Each command that the book shows is run as a reader would, page by page, in a directory of the page's own.

use std::collections::VecDeque;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use netfathom_testkit::{docs, skipped, test_name};

use super::*;
use crate::child::{end_within, is_root, out, start};

/// Seconds, far beyond what any block takes, on a busy machine too.
const HANGS: &str = "120";
/// By then it has been ended.
const LATEST: Duration = Duration::from_secs(150);
/// Pages at the same time: their commands mostly wait.
const AT_ONCE: usize = 3;

/// In place of netfathom: a machine that others use makes runs VOID, which is no fault of the page.
const STAND_IN: &str =
    "#!/bin/sh\n\"$NETFATHOM\" \"$@\"\nstatus=$?\n[ $status -eq 3 ] && exit 0\nexit $status\n";
/// Each block is a shell of its own; what it leaves in the background is waited for, or ended if it failed.
const AROUND: &str = "set -eu -o pipefail; trap 'kill $(jobs -p) 2>/dev/null || :' EXIT\n";

#[test]
fn each_command_of_the_book_is_run() {
    let mut pages = docs::pages(&sources());
    // The longest first: at the end it would run alone.
    pages.sort_by_key(|page| std::cmp::Reverse(page.metadata().map_or(0, |of| of.len())));
    let pages: Mutex<VecDeque<PathBuf>> = Mutex::new(pages.into());
    let (failures, skips) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(page) = pages.lock().unwrap().pop_front() else { break };
                    let (failed, skipped) = run_page(&page);
                    failures.lock().unwrap().extend(failed);
                    skips.lock().unwrap().extend(skipped);
                }
            });
        }
    });
    let skips = skips.into_inner().unwrap();
    if !skips.is_empty() {
        skipped(test_name!(), &format!("a part of it, {} blocks: {}", skips.len(), skips.join("; ")));
    }
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What failed on a page, and what was skipped. After a failure the rest of the page is left out: it builds on it.
fn run_page(page: &Path) -> (Option<String>, Vec<String>) {
    let mut skips = Vec::new();
    let dir = out();
    let bin = dir.path().join("bin");
    fs::create_dir(&bin).unwrap();
    program(&bin.join("netfathom"), STAND_IN);
    symlink(env!("CARGO_BIN_EXE_netfathom"), bin.join("ttcp")).unwrap();
    let work = dir.path().join("work");
    fs::create_dir(&work).unwrap();
    for block in docs::blocks(&sources(), page).iter().filter(|block| block.fenced && block.not_run.is_none())
    {
        let place = format!("{}:{}", page.display(), block.line);
        if let Some(missing) = block.needs.iter().find(|need| !is_here(need)) {
            skips.push(format!("{place} needs {missing}"));
            continue;
        }
        let path = std::env::join_paths(
            [bin.clone()]
                .into_iter()
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
        );
        // It ends whatever the block has begun, too.
        let mut shell = Command::new("timeout");
        shell.args(["--kill-after=5", HANGS, "bash", "-c", &format!("{AROUND}{}\nwait\n", block.text)]);
        shell.current_dir(&work).env("PATH", path.unwrap()).env("NETFATHOM", env!("CARGO_BIN_EXE_netfathom"));
        let child = start(shell.env("COLUMNS", "80").env_remove("NO_COLOR").stdin(Stdio::null()));
        let ended = end_within(child, LATEST);
        if ended.status != 0 {
            let shown = format!("{place}: status {}\n{}{}{}", ended.status, block.text, ended.out, ended.err);
            return (Some(shown), skips);
        }
    }
    (None, skips)
}

/// Written by a process of its own: what another thread starts meanwhile would hold a file that this one has open for
/// writing, and a program that is open for writing does not run (ETXTBSY).
fn program(file: &Path, text: &str) {
    let mut install = Command::new("install");
    install.args(["-m", "755", "/dev/stdin"]).arg(file).stdin(Stdio::piped());
    let mut install = install.spawn().unwrap();
    install.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(install.wait().unwrap().success());
}

/// `root`, or a program that is installed.
fn is_here(need: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if need == "root" { is_root() } else { std::env::split_paths(&path).any(|dir| dir.join(need).is_file()) }
}

#[test]
fn commands_stand_in_blocks_that_are_run() {
    let mut wrong = Vec::new();
    // The README shows in indented blocks what the pages of the book let you try; its options are looked at.
    for page in docs::pages(&sources()).iter().filter(|page| page.starts_with("docs")) {
        for block in docs::blocks(&sources(), page).iter().filter(|block| !block.fenced) {
            wrong.push(format!("{}:{}", page.display(), block.line));
        }
    }
    assert!(wrong.is_empty(), "write commands in ```sh blocks, so that they are run: {}", wrong.join(", "));
}

/// Neither a commit that was not decided nor one that cannot be built or compared is good or bad.
#[test]
fn a_bisection_skips_what_compare_does_not_decide() {
    let page = fs::read_to_string(sources().join("docs/compare.md")).unwrap();
    let line = page.lines().find_map(|line| line.strip_prefix("git bisect run ")).unwrap();
    assert!(line.contains(" --strict "), "{line}");
    let bin = out();
    for name in ["make", "netfathom"] {
        program(&bin.path().join(name), &format!("#!/bin/sh\nexit ${name}\n"));
    }
    for (make, status, wanted) in
        [(0, 0, 0), (0, 4, 1), (0, 1, 125), (0, 2, 125), (0, 3, 125), (0, 6, 125), (2, 0, 125)]
    {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", line]).env("PATH", format!("{}:/usr/bin:/bin", bin.path().display()));
        let ended =
            shell.env("make", make.to_string()).env("netfathom", status.to_string()).status().unwrap();
        assert_eq!(ended.code(), Some(wanted), "make {make}, netfathom {status}");
    }
}
