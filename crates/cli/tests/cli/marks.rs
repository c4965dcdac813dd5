//! `netfathom marks`: live lines, a table, and whom it cannot listen to.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use netfathom_testkit::Killed;
use serde_json::Value;
use tempfile::TempDir;

use crate::child::{end, kill, netfathom, run, shell, signal, start};
use crate::refusals::refused_for;

/// Three rounds, and then more until it is ended if it has an argument; prints when it is ready.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <unistd.h>
#include "netfathom_mark.h"
int main(int count, char **arguments) {
    int round;
    (void)arguments;
    for (round = 0; round < 3 || count > 1; round++) {
        netfathom_mark("zebra: begin");
        usleep(3000);
        netfathom_mark("apple: end\n\033[31m");
        netfathom_mark("a name that is far too long for what is kept of it");
        if (round == 2) { puts("ready"); fflush(stdout); }
    }
    return 3;
}
"#;

/// A program that makes marks, in a directory that is gone with it.
pub struct Marked {
    dir: TempDir,
    /// Its own: tests run side by side.
    name: String,
}

impl Marked {
    fn compiled(name: &str) -> Self {
        Self::of(name, PROGRAM)
    }

    pub fn of(name: &str, program: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("marked.c");
        std::fs::write(&source, program).unwrap();
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mark/include");
        let marked = Self { dir, name: format!("{name}-{}", std::process::id()) };
        let mut cc = Command::new("cc");
        cc.arg(source).arg("-I").arg(include).arg("-o").arg(marked.path());
        assert!(cc.status().unwrap().success());
        marked
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(&self.name)
    }

    /// Runs on until it is killed; it has made marks.
    pub fn running(&self) -> Killed {
        let mut child = Killed(Command::new(self.path()).arg("on").stdout(Stdio::piped()).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        child
    }
}

/// The words of each line that is about a mark of this name.
fn rows<'t>(text: &'t str, name: &str) -> Vec<Vec<&'t str>> {
    text.lines().filter(|line| line.contains(name)).map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn a_program_that_is_started_is_shown_line_by_line_and_in_a_table() {
    let marked = Marked::compiled("lines");
    let ended = run(netfathom("marks --").arg(marked.path())).exited(0);
    // Standard output is for marks alone.
    assert_eq!(ended.err, "ready\n");
    let (lines, table) = ended.out.split_once("\n\n").unwrap();
    assert_eq!(lines.lines().count(), 1 + 9);
    let begin = rows(lines, "zebra: begin");
    assert_eq!((begin[0][0], begin[0][1]), ("0.000000000", "-"));
    // A terminal obeys no name, and no name looks like several lines.
    let end = rows(lines, "apple: end\u{fffd}\u{fffd}[31m");
    let spans: Vec<f64> = end.iter().map(|row| row[1].parse().unwrap()).collect();
    assert!(end.iter().all(|row| row[2] == "ms"), "{end:?}");
    // It slept for 3 ms in between.
    assert!(spans.len() == 3 && spans.iter().all(|&ms| ms >= 3.0), "{spans:?}");
    // In the order in which they came.
    let names: Vec<&str> = table.lines().skip(1).take(3).map(|line| &line[2..7]).collect();
    assert_eq!(names, ["zebra", "apple", "a nam"]);
    let long = rows(table, "a name that is far too long for what i…");
    assert_eq!(long[0][10], "3", "{table}");
    let mean: f64 = rows(table, "apple")[0][3].parse().unwrap();
    assert!((mean - spans.iter().sum::<f64>() / 3.0).abs() < 0.02, "{mean} {spans:?}");
    assert!(table.ends_with(&format!("{} ended with exit status 3\n", marked.name)), "{table}");
    assert!(!table.contains("lost"), "{table}");
}

#[test]
fn lines_of_json() {
    let marked = Marked::compiled("json");
    let ended = run(netfathom("marks --json --").arg(marked.path()));
    let lines: Vec<Value> = ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 9 + 1);
    assert_eq!((&lines[0]["name"], &lines[0]["span_ns"]), (&"zebra: begin".into(), &Value::Null));
    assert_eq!((&lines[1]["name"], &lines[2]["cut"]), (&"apple: end\n\u{1b}[31m".into(), &true.into()));
    assert!(lines[1]["span_ns"].as_u64() >= Some(3_000_000));
    assert_eq!(
        lines[1]["at_ns"].as_u64(),
        lines[0]["at_ns"].as_u64().zip(lines[1]["span_ns"].as_u64()).map(|(a, b)| a + b)
    );
    let table = &lines[9];
    assert_eq!(
        (&table["lost"], &table["damaged"], &table["marks"][0]["count"]),
        (&0.into(), &0.into(), &3.into())
    );
    let quiet = run(netfathom("marks --json --quiet --").arg(marked.path()));
    assert_eq!(quiet.out.lines().count(), 1);
}

#[test]
fn a_running_process_is_shown_by_number_and_name_until_ctrl_c_or_its_end() {
    let marked = Marked::compiled("runs");
    let mut process = marked.running();
    for whom in [process.id().to_string(), marked.name.clone()] {
        let mut watching = start(netfathom("marks").arg(&whom));
        let mut shown = BufReader::new(watching.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("zebra") {
            line.clear();
            assert_ne!(shown.read_line(&mut line).unwrap(), 0, "{whom}");
        }
        // Two are too many.
        let second = run(netfathom("marks").arg(&whom));
        second.exited(1).explains(&[&format!("process {} listens to it already", watching.id())]);
        signal("INT", &watching);
        let rest: Vec<String> = shown.lines().map(Result::unwrap).collect();
        assert_eq!(end(watching).status, 0);
        assert!(rest.iter().any(|line| line.contains("mean span")), "{rest:?}");
    }
    let watching = start(&mut netfathom(&format!("marks --quiet {}", process.id())));
    // It listens by now, or the end comes first: either way it ends.
    kill(&mut process);
    let ended = end(watching);
    assert!(matches!(ended.status, 0 | 1), "{ended}");
}

#[test]
fn whoever_has_seen_enough_ends_the_program() {
    let marked = Marked::compiled("enough");
    let script = format!("\"$0\" marks -- {} on 2>/dev/null | head -n 2", marked.path().display());
    let ended = run(&mut shell(&script));
    assert_eq!(ended.out.lines().count(), 2);
    let mut watching = start(netfathom("marks --").arg(marked.path()).arg("on"));
    let mut shown = BufReader::new(watching.stdout.take().unwrap());
    shown.read_line(&mut String::new()).unwrap();
    signal("TERM", &watching);
    let rest: Vec<String> = shown.lines().map(Result::unwrap).collect();
    assert_eq!(end(watching).status, 0);
    assert!(rest.last().unwrap().ends_with("ended with signal 2"), "{rest:?}");
}

#[test]
fn whom_it_cannot_listen_to() {
    let marked = Marked::compiled("whom");
    let two = [marked.running(), marked.running()];
    let refused = |args: &str, why: &[&str]| refused_for(&mut netfathom(args), 1, why);
    let named = format!("marks {}", marked.name);
    let both = two.each_ref().map(|process| format!("  {} {} on", process.id(), marked.path().display()));
    refused(&named, &["2 processes have this name; write the number of one", &both[0], &both[1]]);
    drop(two);
    refused(&named, &["no process has this name"]);
    refused(&format!("marks {}", std::process::id()), &["it has no ring of marks"]);
    refused("marks -- /nonexistent/program", &["cannot start `/nonexistent/program`"]);
    for args in ["marks", "marks name -- true", "marks --"] {
        assert_eq!(run(&mut netfathom(args)).status, 2, "{args}");
    }
}
