//! The manual pages.

use std::fs;

use super::*;
use crate::docs::words::forbidden;
use crate::help::{PAGES, Page};

/// What a reader looks for in any page.
const SECTIONS: [&str; 6] = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"];

/// The pages, written into a directory, by their names.
fn pages() -> (tempfile::TempDir, Vec<(String, String)>) {
    let dir = out();
    well(netfathom("man --date 2026-11-21").arg(dir.path()));
    let mut pages: Vec<_> = crate::child::runs(dir.path())
        .iter()
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().into(), fs::read_to_string(path).unwrap()))
        .collect();
    pages.sort();
    (dir, pages)
}

#[test]
fn every_command_has_a_page_with_what_readers_look_for() {
    let (_dir, pages) = pages();
    let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
    let page_of = |page: &Page| format!("netfathom {}", page.command).trim().replace(' ', "-");
    let mut wanted: Vec<String> = PAGES.iter().map(page_of).collect();
    wanted.sort();
    assert_eq!(names, wanted);
    for (name, page) in &pages {
        assert_eq!(forbidden(page), [""; 0], "{name}");
        let at = page.find("\\fIdocs/").unwrap_or_else(|| panic!("{name}")) + 3;
        let chapter = page[at..].split("\\f").next().unwrap();
        assert!(sources().join(chapter).is_file(), "{name}: there is no {chapter}");
        let sections: Vec<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix(".SH "))
            .map(|title| title.trim_matches('"'))
            .collect();
        for section in SECTIONS {
            assert!(sections.contains(&section), "{name} has no {section}, but {sections:?}");
        }
        let family = |other: &str| other == name || other.starts_with(&format!("{name}-"));
        let shown = pages.iter().any(|(other, page)| family(other) && page.contains(".SH EXAMPLES"));
        let above = name.matches('-').count() > 1;
        assert!(shown || above, "{name} has no examples: put some into its after_help");
        let keeps = page.contains("\\-\\-out\\fR");
        assert_eq!(sections.contains(&"FILES"), keeps, "{name}");
        assert!(page.starts_with(".ie") && page.contains("\"netfathom "), "{name}");
        assert!(!page.contains(" burn"), "{name} tells of a hidden command");
    }
}

#[test]
fn readers_of_manual_pages_find_nothing_wrong() {
    let (dir, pages) = pages();
    if installed(test_name!(), &["mandoc"], "mandoc") {
        let lint = run(script("sh", r#"cd "$1" && mandoc -T lint -W warning -- *.1"#).arg(dir.path()));
        assert_eq!((lint.status, lint.out.as_str(), lint.err.as_str()), (0, "", ""));
    }
    if installed(test_name!(), &["man"], "man-db") {
        for (name, _) in &pages {
            let page = dir.path().join(format!("{name}.1"));
            let mut man = Command::new("man");
            // As a package's checks read it: any warning is printed.
            man.args(["--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"]).arg(page);
            run(man.env("LC_ALL", "C.UTF-8").env("MANROFFSEQ", "").env("MANWIDTH", "80")).quietly();
        }
    }
}
