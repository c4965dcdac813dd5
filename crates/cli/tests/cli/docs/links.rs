//! Links from page to page, and to places in them.

use std::collections::BTreeMap;

use super::*;

/// Folders with pages, from the root of the sources.
const FOLDERS: [&str; 6] = [".", "docs", "docs/decisions", "crates/mark", "crates/message", "python"];

fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for folder in FOLDERS {
        files(&sources().join(folder), &["md"], false, &mut pages);
    }
    assert!(pages.len() > 40, "{pages:?}");
    pages
}

/// A page without what is shown as code, indented code too.
fn shown(text: &str) -> String {
    prose(text).filter(|(_, line)| !line.starts_with("    ")).map(|(_, line)| line + "\n").collect()
}

/// The places of a page, by the rule of those who show Markdown: lower case, blanks to hyphens, the rest left out.
fn anchors(text: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = Vec::new();
    for (_, line) in unfenced(text) {
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let kept = heading.trim().to_lowercase();
        let anchor: String = kept
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let before = seen.entry(anchor.clone()).or_default();
        anchors.push(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
        *before += 1;
    }
    anchors
}

/// What the links of a text lead to.
fn targets(text: &str) -> Vec<&str> {
    let after = text.match_indices("](").map(|(at, mark)| &text[at + mark.len()..]);
    after.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    let mut seen = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for target in targets(&shown(&text)) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            seen += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            let there = match fs::read_to_string(&file) {
                Ok(other) => anchor.is_empty() || anchors(&other).iter().any(|a| a == anchor),
                Err(_) => anchor.is_empty() && file.exists(),
            };
            if !there {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(seen > 100, "only {seen} links were found");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn places_are_named_as_others_name_them() {
    let text = "# A page\n## What `cost` takes, and why\n```sh\n# no heading\n```\n## A page\n";
    assert_eq!(anchors(text), ["a-page", "what-cost-takes-and-why", "a-page-1"]);
    assert_eq!(targets(&shown("see [a](b.md#c) and `[x](y)`\n    [no](link)\n")), ["b.md#c"]);
}
