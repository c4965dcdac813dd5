//! The browser of a test process: pages apart from each other, and nothing of it left behind.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use netfathom_testkit::browser::Page;
use netfathom_testkit::test_name;
use serde_json::json;

/// Says that it has a page, and keeps it until it is ended.
#[test]
#[ignore = "run by a_browser_ends_with_its_process"]
fn half_that_has_a_page() {
    let Some(mut page) = Page::start("half_that_has_a_page") else { return };
    assert_eq!(page.eval("6 * 7"), json!(42));
    println!("has a page");
    if std::env::var_os("NETFATHOM_TEST_PANICS").is_some() {
        panic!("as it was asked to");
    }
    std::thread::sleep(Duration::from_secs(60));
}

/// A process with a browser that keeps its files below that directory.
fn half(files: &Path, panics: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "half_that_has_a_page", "--ignored", "--nocapture"]).env("TMPDIR", files);
    if panics {
        command.env("NETFATHOM_TEST_PANICS", "1");
    }
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("this program starts")
}

/// Processes with such a word in their command line.
fn with_word(word: &Path) -> usize {
    let word = word.as_os_str().as_encoded_bytes();
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let lines = processes.filter_map(|p| fs::read(p.path().join("cmdline")).ok());
    lines.filter(|line| line.windows(word.len()).any(|part| part == word)).count()
}

#[test]
fn a_browser_ends_with_its_process() {
    if Page::start("a_browser_ends_with_its_process").is_none() {
        return;
    }
    for panics in [false, true] {
        let files = tempfile::tempdir().expect("a directory");
        let mut child = half(files.path(), panics);
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("has a page")), "it never had one");
        if !panics {
            assert!(with_word(files.path()) > 0, "the test is of no use");
            child.kill().expect("it runs");
        }
        child.wait().expect("it has ended");
        let start = Instant::now();
        let left = || fs::read_dir(files.path()).expect("the directory").count() + with_word(files.path());
        while left() > 0 {
            assert!(start.elapsed() < Duration::from_secs(60), "{} are left, panics: {panics}", left());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn pages_know_nothing_of_each_other() {
    let files = tempfile::tempdir().expect("a directory");
    let file = files.path().join("page.html");
    fs::write(&file, "<!doctype html><title>page</title>").expect("a page");
    let address = netfathom_testkit::browser::address(&file);
    let (Some(mut one), Some(mut other)) = (Page::start(test_name!()), Page::start(test_name!())) else {
        return;
    };
    one.open(&address);
    other.open(&address);
    one.eval("localStorage.setItem('left', 'behind')");
    assert_eq!(other.eval("localStorage.getItem('left')"), json!(null));
    let dark = "matchMedia('(prefers-color-scheme: dark)').matches";
    one.prefer("dark");
    other.prefer("light");
    one.resize(360, 900, true);
    assert_eq!((one.eval(dark), other.eval(dark)), (json!(true), json!(false)));
    assert_ne!(one.eval("innerWidth"), other.eval("innerWidth"));
    one.eval("console.error('of the first')");
    assert_eq!((one.complaints().len(), other.complaints().len()), (1, 0));
    // Both are to be seen and have the focus, whichever came last.
    for page in [&mut one, &mut other] {
        assert_eq!(page.eval("[document.visibilityState, document.hasFocus()]"), json!(["visible", true]));
    }
}
