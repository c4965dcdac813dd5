//! The package for Python (`python/`): its own tests, with every table of every fixture as this crate exports it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use netfathom_results::export::{Format, What};
use netfathom_results::store::{self, Written};
use netfathom_sys::directory::Directory;
use netfathom_testkit::{needs, test_name};
use tempfile::TempDir;

use crate::fixtures::{ALL, fixture};
use crate::readers::{python, run};
use crate::runs::{messages, written};

const TABLES: [(&str, What); 3] =
    [("trials", What::Trials), ("series", What::Series), ("histograms", What::Histograms)];

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python")
}

/// Every fixture as a run has it, every table of it as CSV, and a run with single messages.
fn exports() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("fixtures")).unwrap();
    for name in ALL {
        let run = crate::runs::run(name);
        let json = Written::of(&run.record).json().unwrap();
        fs::write(dir.path().join(format!("fixtures/{name}.json")), json).unwrap();
        for (table, what) in TABLES {
            if let Ok((bytes, _)) = written(&run, Format::Csv, what) {
                fs::write(dir.path().join(format!("{name}.{table}.csv")), bytes).unwrap();
            }
        }
    }
    let sampled = dir.path().join("sampled");
    fs::create_dir(&sampled).unwrap();
    fs::write(sampled.join(store::RECORD_FILE), Written::of(&fixture("stack")).json().unwrap()).unwrap();
    store::samples::write(&Directory::open(&sampled).unwrap(), &messages()).unwrap();
    dir
}

/// The tests of the package, with this Python; returns what it says of them.
fn tested(python: &Path, exports: &Path, path: Option<PathBuf>) -> String {
    let mut command = Command::new(python);
    command.args(["-B", "-m", "unittest", "discover", "--verbose", "--start-directory"]);
    command.arg(package().join("tests")).current_dir(exports);
    command.env("NETFATHOM_FIXTURES", exports.join("fixtures")).env("NETFATHOM_EXPORTS", exports);
    command.env("NETFATHOM_EXAMPLES", package().join("examples"));
    match path {
        Some(path) => command.env("PYTHONPATH", path),
        None => command.env_remove("PYTHONPATH"),
    };
    let output = command.output().unwrap();
    let shown = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{shown}");
    shown
}

#[test]
fn installed_it_tells_what_this_crate_tells() {
    let Some(python) = python(test_name!()) else { return };
    let exports = exports();
    // A copy, since setuptools builds beside the source.
    let copy = exports.path().join("package");
    run(Command::new("cp").arg("-r").arg(package()).arg(&copy));
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--force-reinstall",
        "--no-deps",
        // With the setuptools of the pinned readers: a build by itself would ask the network for one.
        "--no-build-isolation",
    ]);
    run(pip.arg(&copy));
    let shown = tested(&python, exports.path(), None);
    assert!(!shown.contains("skipped"), "{shown}");
}

#[test]
fn it_needs_no_other_package() {
    let version =
        Command::new("python3").args(["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]).status();
    needs!(version.is_ok_and(|version| version.success()), "needs Python 3.9 or later");
    let exports = exports();
    // Without what is installed beside it: only what Python itself brings.
    let bare = exports.path().join("bare");
    run(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&bare));
    let shown = tested(&bare.join("bin/python"), exports.path(), Some(package().join("src")));
    assert!(shown.contains("pandas is not installed"), "{shown}");
}
