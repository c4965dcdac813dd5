//! The book is whole: each page is in the tables of contents, each command has a page, each measurement answers all.

use std::process::Command;

use super::*;
use crate::child::{names, out, run};
use crate::help::PAGES;

/// What the page of a measurement has to say, as headings.
const SHOWN: [&str; 6] = [
    "## What is measured",
    "## Which clock",
    "## What it costs",
    "## Reading a result",
    "## Options that matter",
    "## What it cannot see",
];
/// What a page of a format has to say.
const PROMISE: &str = "## Compatibility";

fn contents() -> String {
    fs::read_to_string(sources().join("docs/README.md")).unwrap()
}

/// The pages that a part of the table of contents links to.
fn part(title: &str) -> Vec<String> {
    let contents = contents();
    let part = contents.split("\n## ").find(|part| part.starts_with(title));
    let part = part.unwrap_or_else(|| panic!("docs/README.md has no part {title}"));
    let linked = part.lines().filter_map(|line| line.split_once("](")?.1.split_once(')'));
    linked.map(|(page, _)| page.to_owned()).collect()
}

fn page(name: &str) -> String {
    fs::read_to_string(sources().join("docs").join(name)).unwrap_or_else(|e| panic!("docs/{name}: {e}"))
}

/// The pages of a folder below docs, by their names from there.
fn pages(folder: &str) -> Vec<String> {
    let all = names(&sources().join("docs").join(folder)).into_iter();
    all.filter(|name| name.ends_with(".md")).map(|name| format!("{folder}{name}")).collect()
}

#[test]
fn each_page_is_in_the_table_of_contents_and_once_in_the_summary_of_the_site() {
    let contents = contents();
    for name in pages("").into_iter().filter(|name| name != "README.md") {
        assert!(contents.contains(&format!("]({name})")), "docs/README.md does not link to {name}");
    }
    let summary = page("SUMMARY.md");
    for name in [pages(""), pages("decisions/")].concat().into_iter().filter(|name| name != "SUMMARY.md") {
        let links = summary.matches(&format!("]({name})")).count();
        assert_eq!(links, 1, "docs/SUMMARY.md links to {name} {links} times");
    }
}

/// Otherwise a benchmark runs for minutes, and its table has no place.
#[test]
fn each_section_of_the_bench_has_its_place() {
    let bench = fs::read_to_string(sources().join("scripts/bench")).unwrap();
    let written: Vec<&str> =
        bench.lines().filter_map(|line| line.strip_prefix("section ")?.split(' ').next()).collect();
    let benchmarks = page("benchmarks.md");
    let begun = benchmarks.lines().filter_map(|line| line.strip_prefix("<!-- bench: ")?.strip_suffix(" -->"));
    assert_eq!(begun.collect::<Vec<_>>(), written, "sections of docs/benchmarks.md and of scripts/bench");
    assert!(written.len() > 5, "{written:?}");
    let dir = out();
    let copy = dir.path().join("benchmarks.md");
    for name in written {
        fs::write(&copy, &benchmarks).unwrap();
        let ended = run(Command::new("bash").arg("-c").arg("echo '| new |' | \"$0\" \"$@\"").args([
            sources().join("scripts/bench-page").as_os_str(),
            name.as_ref(),
            copy.as_os_str(),
        ]));
        assert_eq!(ended.status, 0, "{name}: {ended}");
        let (before, after) = benchmarks.split_once(&format!("<!-- bench: {name} -->")).unwrap();
        let after = after.split_once(&format!("<!-- /bench: {name} -->")).unwrap().1;
        let text = fs::read_to_string(&copy).unwrap();
        assert!(text.starts_with(before) && text.ends_with(after), "{name}: more than its section changed");
        assert!(text[before.len()..text.len() - after.len()].contains("| new |"), "{name}: {text}");
    }
}

#[test]
fn each_command_has_a_page() {
    let names = PAGES.iter().map(|page| page.command.as_str());
    for name in names.filter(|name| !name.is_empty() && !name.contains(' ')) {
        let page = if name == "completions" { "install" } else { name };
        assert!(sources().join(format!("docs/{page}.md")).is_file(), "there is no docs/{page}.md");
    }
}

#[test]
fn the_page_of_a_measurement_says_all_and_that_of_a_format_what_it_promises() {
    let formats = part("Formats");
    assert!(formats.len() >= 6, "{formats:?}");
    for name in formats {
        assert!(page(&name).lines().any(|line| line == PROMISE), "docs/{name} lacks {PROMISE:?}");
    }
    let pages = part("Measurements");
    assert!(pages.len() >= 12, "{pages:?}");
    for name in pages {
        let page = page(&name);
        let missing: Vec<_> =
            SHOWN.iter().filter(|message| !page.lines().any(|line| line == **message)).collect();
        assert!(missing.is_empty(), "docs/{name} lacks {missing:?}");
        assert!(page.contains("```sh"), "docs/{name} has no example");
    }
}
