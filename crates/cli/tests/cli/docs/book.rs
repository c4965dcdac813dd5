//! The book is whole: each page is in the table of contents, each command has a page, each measurement says all.

use std::fs;

use super::*;
use crate::child::{netfathom, run};

/// What the page of a measurement has to say, as headings.
const SAID: [&str; 6] = [
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

#[test]
fn each_page_is_in_the_table_of_contents() {
    let contents = contents();
    for entry in fs::read_dir(sources().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") && name != "README.md" {
            assert!(contents.contains(&format!("]({name})")), "docs/README.md does not lead to {name}");
        }
    }
}

#[test]
fn each_command_has_a_page() {
    let help = run(&mut netfathom("--help")).out;
    let list = help.split_once("Commands:\n").unwrap().1.split("\n\n").next().unwrap();
    let names = list
        .lines()
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next());
    for name in names.filter(|&name| name != "help") {
        let page = if name == "completions" { "install" } else { name };
        assert!(sources().join(format!("docs/{page}.md")).is_file(), "there is no docs/{page}.md");
    }
}

#[test]
fn the_page_of_a_measurement_says_all() {
    let pages = part("Measurements");
    assert!(pages.len() >= 12, "{pages:?}");
    for name in pages {
        let page = page(&name);
        let missing: Vec<_> = SAID.iter().filter(|said| !page.lines().any(|line| line == **said)).collect();
        assert!(missing.is_empty(), "docs/{name} lacks {missing:?}");
        assert!(page.contains("```sh"), "docs/{name} has no example");
    }
}

#[test]
fn the_page_of_a_format_says_what_it_promises() {
    let pages = part("Formats");
    assert!(pages.len() >= 6, "{pages:?}");
    for name in pages {
        assert!(page(&name).lines().any(|line| line == PROMISE), "docs/{name} lacks {PROMISE:?}");
    }
}
