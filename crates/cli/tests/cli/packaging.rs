//! Manual pages, completions, the unit of systemd, the DaemonSet and the Debian package: what others install is what the binary says of itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use netfathom_testkit::{installed, needs, needs_programs, test_name};

use crate::child::{Ended, is_root, netfathom, out, run, sources};
use crate::refusals::refused_for;

mod completions;
mod debian;
mod kubernetes;
mod manual;
mod systemd;

const BINARY: &str = env!("CARGO_BIN_EXE_netfathom");

/// Runs another program, which has to end well.
fn well(command: &mut Command) -> Ended {
    let ended = run(command);
    assert_eq!(ended.status, 0, "{command:?}: {ended}");
    ended
}

/// A script, with its arguments from `$1` on, by a shell that stops at the first failure.
fn script(shell: &str, text: &str) -> Command {
    let mut command = Command::new(shell);
    command.args(["-c", text, shell]).stdin(std::process::Stdio::null()).current_dir(sources());
    command
}

#[test]
fn make_install_puts_all_where_it_belongs() {
    let root = out();
    let to = root.path().join("root");
    let mut make =
        script("sh", r#"exec make --no-print-directory install BINARY="$1" DESTDIR="$2" PREFIX=/opt/x"#);
    well(make.arg(BINARY).arg(&to));
    let share = to.join("opt/x/share");
    for file in [
        "man/man1/netfathom-stack.1",
        "bash-completion/completions/netfathom",
        "zsh/site-functions/_netfathom",
        "fish/vendor_completions.d/netfathom.fish",
    ] {
        assert!(share.join(file).is_file(), "{file}");
    }
    let installed = well(Command::new(to.join("opt/x/bin/netfathom")).arg("--version"));
    assert_eq!(installed.out, run(&mut netfathom("--version")).out);
    // Nothing is beside it.
    assert_eq!(fs::read_dir(&to).unwrap().count(), 1);
    assert_eq!(fs::read_dir(to.join("opt/x")).unwrap().count(), 2);
}

#[test]
fn without_a_binary_nothing_is_installed() {
    let root = out();
    let mut install = script("sh", r#"exec scripts/install "$1/none" "$1" /usr"#);
    refused_for(install.arg(root.path()), 1, &["make build"]);
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}
