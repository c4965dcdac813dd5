//! The module for Python: built, installed and heard.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use netfathom_mark::listen::Listener;
use netfathom_testkit::skip;

use crate::turns::{Program, names};

/// What has to be there for a build without network.
const NEEDED: &str = "\
import setuptools, ensurepip, os, sysconfig, venv
try:
    import setuptools.command.bdist_wheel
except ImportError:
    import wheel
assert os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h'))";

const MARKS: &str = "\
import os, sys, threading, time
from netfathom_mark import mark, mark_at, status
mark('before')
print('ready', flush=True); sys.stdin.readline()
mark('python: main')
thread = threading.Thread(target=mark, args=('python: thread',)); thread.start(); thread.join()
child = os.fork()
if child == 0:
    mark('python: child'); os._exit(0)
os.waitpid(child, 0)
mark_at('python: later', time.monotonic_ns() + 10**9)
mark('zw\\u00f6lf \\udcff')
for wrong in (lambda: mark(3), lambda: mark_at('x', -1), lambda: mark_at('x', 1 << 64), lambda: mark()):
    try: wrong()
    except (TypeError, OverflowError): pass
    else: sys.exit('it took what it cannot')
print('status', *status(), flush=True); sys.stdin.readline()
";

/// A Python that can build it, or none.
fn python() -> Option<&'static str> {
    let builds =
        |python: &&str| Command::new(python).args(["-c", NEEDED]).output().is_ok_and(|o| o.status.success());
    ["python3", "/usr/bin/python3"].into_iter().find(builds)
}

fn succeeded(output: &Output) {
    let text = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{}{}", text[0], text[1]);
}

/// A copy of the package beside the header, as in a checkout, which pip may write to.
fn copied(to: &Path) -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    for dir in ["include", "python"] {
        succeeded(&Command::new("cp").arg("-r").arg(package.join(dir)).arg(to).output().unwrap());
    }
    to.join("python")
}

/// Installs into a new environment there, and gives its Python.
fn installed(python: &str, to: &Path, what: &Path) -> PathBuf {
    let environment = to.join("venv");
    succeeded(
        &Command::new(python)
            .args(["-m", "venv", "--system-site-packages"])
            .arg(&environment)
            .output()
            .unwrap(),
    );
    let python = environment.join("bin/python");
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps"]);
    succeeded(&pip.arg("--disable-pip-version-check").arg(what).output().unwrap());
    python
}

#[test]
fn a_program_in_python_speaks_to_the_listener() {
    let Some(python) = python() else {
        let packages = "python3-dev python3-pip python3-setuptools python3-venv python3-wheel";
        skip!("no Python can build it: apt-get install {packages}");
    };
    let dir = tempfile::tempdir().unwrap();
    let package = copied(dir.path());
    heard(&installed(python, dir.path(), &package));
    // A source distribution has the header inside, and the package has it no longer.
    let dist = dir.path().join("dist");
    let mut sdist = Command::new(python);
    sdist.args(["setup.py", "--quiet", "sdist", "--dist-dir"]).arg(&dist);
    succeeded(&sdist.current_dir(&package).output().unwrap());
    assert!(!package.join("include").exists());
    let archive = fs::read_dir(&dist).unwrap().next().unwrap().unwrap().path();
    let files = Command::new("tar").arg("-tzf").arg(archive).output().unwrap();
    let files = String::from_utf8(files.stdout).unwrap();
    assert!(files.lines().any(|file| file.ends_with("/include/netfathom_mark.h")), "{files}");
}

fn heard(python: &Path) {
    let mut command = Command::new(python);
    command.args(["-c", MARKS]).env_remove("NETFATHOM_MARK_FD").current_dir("/");
    let mut program = Program::start(&mut command);
    program.until("ready");
    let mut listener = Listener::of_process(program.pid()).unwrap();
    program.go();
    let status = program.until("status");
    let mut marks = Vec::new();
    listener.drain(&mut marks);
    // In the order of their times: the last is a second ahead.
    let expected = ["python: main", "python: thread", "python: child", "zwölf ?", "python: later"];
    assert_eq!(names(&marks), expected);
    assert_eq!((listener.lost(), status.as_str()), (0, "True 5 0"));
    assert_ne!(marks[1].thread, marks[0].thread);
    assert_ne!(marks[2].process, marks[0].process);
}

#[test]
fn a_failed_build_names_what_is_missing() {
    let Some(python) = python() else {
        skip!("no Python can build it: apt-get install python3-dev and others")
    };
    let dir = tempfile::tempdir().unwrap();
    let package = copied(dir.path());
    let mut build = Command::new(python);
    build.args(["setup.py", "--quiet", "build_ext"]).current_dir(&package).env("CC", "/nonexistent/cc");
    let stderr = String::from_utf8(build.output().unwrap().stderr).unwrap();
    assert!(stderr.contains("apt-get install gcc python3-dev"), "{stderr}");
    fs::remove_dir_all(dir.path().join("include")).unwrap();
    let stderr = String::from_utf8(build.output().unwrap().stderr).unwrap();
    assert!(stderr.contains("install from a checkout of netfathom"), "{stderr}");
}
