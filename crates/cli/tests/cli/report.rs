//! `netfathom report`: records that are there, and what is none.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use netfathom_testkit::test_name;

use crate::child::{fixture, names, netfathom, on_terminal, out, run, shell};
use crate::refusals::{refused, refused_for};

#[test]
fn what_is_no_record() {
    let dir = out();
    let at = |name: &str| dir.path().join(name);
    let whole = fs::read_to_string(fixture("stack")).unwrap();
    let files = [
        ("foreign.json", r#"{"a":1}"#.to_owned()),
        ("list.json", "[1]".into()),
        ("report.html", "<!doctype html>".into()),
        ("truncated.json", whole[..1000].into()),
        ("future.json", whole.replacen(r#""schema_version":1"#, r#""schema_version":9"#, 1)),
        ("empty.json", String::new()),
        ("infinite.json", with(&whole, "1e999")),
        ("nothing.json", with(&whole, "null")),
        ("negative.json", whole.replacen(r#""sent":"#, r#""sent":-"#, 1)),
    ];
    for (name, text) in &files {
        fs::write(at(name), text).unwrap();
    }
    fs::create_dir_all(at("empty")).unwrap();
    fs::create_dir_all(at("runs/a-run")).unwrap();
    fs::write(at("runs/a-run/record.json"), &whole).unwrap();
    let names = files.iter().map(|f| f.0).chain(["missing", "empty", "runs"]);
    let message: String = names.map(|n| refused(netfathom("report").arg(at(n)), 1)).collect();
    let message = message.replace(dir.path().to_str().unwrap(), "DIR");
    insta::assert_snapshot!(message);
}

#[test]
fn a_fifo_is_refused_and_a_pipe_is_read() {
    let dir = out();
    let fifo = dir.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for command in ["report", "export --to csv", "runs show"] {
        refused(netfathom(command).arg(&fifo).current_dir(dir.path()), 1);
    }
    refused_for(netfathom("report").arg(&fifo), 1, &["fifo is not a run: it is a FIFO"]);
    let (fifo, whole) = (fifo.display(), fixture("stack"));
    let cat = format!("cat '{}'", whole.display());
    for piped in [
        format!("{cat} | $0 report /dev/stdin --format md"),
        format!("{cat} > '{fifo}' & $0 report /dev/stdin --format md < '{fifo}'"),
    ] {
        run(&mut shell(&piped)).exited(0).shows(&["netfathom 0.1.0 stack"]);
    }
}

/// The record with another time that reading the clock takes.
fn with(whole: &str, number: &str) -> String {
    let (before, after) = whole.split_once(r#""clock_read_ns":"#).unwrap();
    let end = after.find([',', '}']).unwrap();
    format!("{before}\"clock_read_ns\":{number}{}", &after[end..])
}

#[test]
fn standard_input_is_a_record_too() {
    let ended = run(netfathom("report - -v").stdin(File::open(fixture("stack")).unwrap())).quietly();
    assert!(ended.out.contains("netfathom 0.1.0 stack, "), "{ended}");
    refused_for(&mut netfathom("report -"), 1, &["standard input"]);
}

#[test]
fn the_terminal_is_given_the_short_view_and_with_v_the_whole() {
    let printed = |args: &str| run(netfathom(args).arg(fixture("stack"))).out;
    let [short, whole] = ["report --format txt", "report -v"].map(printed);
    let answer = |text: &str| text.lines().next().map(str::to_owned);
    assert_eq!(answer(&short), answer(&whole));
    assert!(short.ends_with("\n\nmore: -v\n") && short.lines().count() <= 40, "{short}");
    assert!(whole.contains("netfathom 0.1.0 stack, ") && whole.lines().count() > 80, "{whole}");
    assert_eq!(printed("report --format md -v"), printed("report --format md"));
}

#[test]
fn a_report_that_cannot_be_written() {
    let command = |to: &str| {
        let mut command = netfathom("report");
        command.arg(fixture("stack")).args(["-o", to]);
        command
    };
    let message = refused(&mut command("/nonexistent/x.html"), 1) + &refused(&mut command("/dev/full"), 1);
    insta::assert_snapshot!(message);
    let script =
        format!("{{ \"$0\" report {} -o -; echo $? >&2; }} | head -1 >/dev/null", fixture("stack").display());
    assert_eq!(run(&mut shell(&script)).err, "0\n");
}

/// A run directory with the fixture as its record.
fn a_run(dir: &Path) -> PathBuf {
    let run = dir.join("a-run");
    fs::create_dir(&run).unwrap();
    fs::copy(fixture("stack"), run.join("record.json")).unwrap();
    run
}

#[test]
fn the_report_stands_alone_beside_its_record_and_never_replaces_that() {
    let dir = out();
    let run_dir = a_run(dir.path());
    let (report, record) = (run_dir.join("report.html"), run_dir.join("record.json"));
    for _ in 0..2 {
        let ended = run(netfathom("report").arg(&run_dir));
        assert_eq!((ended.status, ended.out), (0, format!("report: {}\n", report.display())));
    }
    assert!(fs::read_to_string(report).unwrap().contains("</html>"));
    assert_eq!(names(&run_dir), ["record.json", "report.html"]);
    refused_for(netfathom("report").arg(&run_dir).arg("-o").arg(&record), 1, &["choose another file"]);
    assert!(fs::read(&record).unwrap() == fs::read(fixture("stack")).unwrap());
}

#[test]
fn markdown_goes_to_standard_output_or_a_file() {
    let dir = out();
    let ended = run(netfathom("report --format md").arg(fixture("stack"))).quietly();
    assert!(ended.out.starts_with("# netfathom stack\n\n**DEGRADED** A 64-byte"), "{ended}");
    assert!(ended.out.contains("\n| stage | n | mean |"), "{ended}");
    let file = dir.path().join("x.md");
    assert_eq!(run(netfathom("report --format md").arg(fixture("stack")).arg("-o").arg(&file)).status, 0);
    assert_eq!(fs::read_to_string(file).unwrap(), ended.out);
}

#[test]
fn a_terminal_is_given_no_html_and_a_file_no_colours() {
    let dir = out();
    let args = |rest: &str| format!("report {} {rest}", fixture("stack").display());
    let Some(refused) = on_terminal(test_name!(), &args("-o -")) else { return };
    refused.exited(2).shows(&["standard output is a terminal; name a file with --output"]);
    let file = dir.path().join("x.txt");
    on_terminal(test_name!(), &args(&format!("--format txt -o {}", file.display()))).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("netfathom 0.1.0 stack, ") && !text.contains('\u{1b}'), "{file:?}");
}

#[test]
fn a_pipe_has_the_lines_that_a_terminal_has_no_room_for() {
    let dir = out();
    let record = dir.path().join("record.json");
    let whole = fs::read_to_string(fixture("watch-slow")).unwrap();
    fs::write(&record, whole.replace("messages wait as", &"word ".repeat(300))).unwrap();
    let has = |text: &str| ["Account: what became", " more line"].map(|what| text.contains(what));
    let piped = run(netfathom("report --format txt").arg(&record));
    assert_eq!(has(&piped.out), [true, false], "{piped}");
    let args = format!("report --format txt {}", record.display());
    let Some(shown) = on_terminal(test_name!(), &args) else { return };
    assert_eq!(has(&shown.out), [false, true], "{shown}");
}

#[test]
fn a_report_of_standard_input_replaces_nothing() {
    let dir = out();
    let report = || {
        let mut command = netfathom("report -");
        command.current_dir(dir.path()).stdin(File::open(fixture("stack")).unwrap());
        command
    };
    let ended = run(&mut report());
    let name = ended.out.strip_prefix("report: ").unwrap().trim_end();
    fs::write(dir.path().join(name), "mine").unwrap();
    refused_for(&mut report(), 1, &["is there already; name a file with --output"]);
    assert_eq!(fs::read_to_string(dir.path().join(name)).unwrap(), "mine");
}

#[test]
fn a_record_that_is_a_link_out_of_its_run_is_not_followed() {
    let dir = out();
    let run_dir = a_run(dir.path());
    let elsewhere = dir.path().join("elsewhere.json");
    fs::rename(run_dir.join("record.json"), &elsewhere).unwrap();
    symlink(&elsewhere, run_dir.join("record.json")).unwrap();
    let why = ["is a symbolic link out of its run", "nothing was written"];
    refused_for(netfathom("report").arg(&run_dir), 1, &why);
    assert!(!run_dir.join("report.html").exists() && !dir.path().join("report.html").exists());
    // A link within the run is its own business, and so is one to the run.
    fs::remove_file(run_dir.join("record.json")).unwrap();
    fs::rename(&elsewhere, run_dir.join("record-1.json")).unwrap();
    symlink("record-1.json", run_dir.join("record.json")).unwrap();
    symlink(&run_dir, dir.path().join("latest")).unwrap();
    assert_eq!(run(netfathom("report").arg(dir.path().join("latest"))).status, 0);
    assert!(run_dir.join("report.html").is_file());
}

#[test]
fn opening_is_done_by_the_browser_that_is_named() {
    let dir = out();
    let run_dir = a_run(dir.path());
    let browser = dir.path().join("browser");
    let shown = dir.path().join("shown");
    fs::write(&browser, format!("#!/bin/sh\necho \"$1 $2\" > {}\n", shown.display())).unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let named = format!("{} --new:other", browser.display());
    let ended = run(netfathom("report --open").arg(&run_dir).env("BROWSER", named)).quietly();
    let report = run_dir.join("report.html").canonicalize().unwrap();
    assert!(!ended.out.contains("not opened"), "{ended}");
    assert_eq!(fs::read_to_string(shown).unwrap(), format!("--new {}\n", report.display()));
}

#[test]
fn without_a_browser_it_says_where_the_report_is() {
    let dir = out();
    let run_dir = a_run(dir.path());
    let command = || {
        let mut command = netfathom("report --open");
        command.arg(&run_dir).env_remove("BROWSER").env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
        command
    };
    let report = run_dir.canonicalize().unwrap().join("report.html");
    for (browser, why) in [
        (None, "there is no display here"),
        (Some("/nonexistent/b"), "cannot start"),
        (Some("false"), "false could not"),
    ] {
        let mut command = command();
        browser.map(|browser| command.env("BROWSER", browser));
        let ended = run(&mut command).quietly();
        assert!(ended.out.contains("not opened: ") && ended.out.contains(why), "{ended}");
        assert!(ended.out.contains(&format!("file://{}", report.display())), "{ended}");
    }
}

#[test]
fn only_a_file_can_be_opened() {
    for args in ["report --open --format md", "report --open -o -"] {
        refused_for(netfathom(args).arg(fixture("stack")), 2, &["--open shows a file"]);
    }
}
