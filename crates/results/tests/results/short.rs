//! The short view: the answer in a line, and a page of 40 lines.

use netfathom_results::{draw, story};

use crate::fixtures::fixture;

const FIXTURES: [&str; 16] = [
    "stack",
    "taps",
    "load",
    "capacity",
    "reverse",
    "join",
    "ttcp",
    "sweep",
    "message",
    "cost",
    "cost-chance",
    "cost-observers",
    "cost-offline",
    "cost-own",
    "reproduce",
    "watch",
];

#[test]
fn the_answer_is_one_line_and_the_rest_a_page() {
    for name in FIXTURES {
        let page = story::of(&fixture(name));
        let text = draw::short(&page, 200, false);
        let first = text.lines().next().unwrap();
        assert!(first.chars().count() <= 100, "{name}: {first}");
        assert!(!first.contains('…'), "{name}: {first}");
        let text = draw::short(&page, 80, false);
        assert!(text.lines().count() <= draw::MOST_LINES, "{name}: {text}");
        assert!(!text.contains("left out here"), "{name}: {text}");
        let remarks = text.lines().filter(|line| line.starts_with("  - "));
        assert!(remarks.count() <= 3, "{name}: {text}");
    }
}

#[test]
fn every_block_of_the_short_view_is_in_the_whole() {
    for name in FIXTURES {
        let page = story::of(&fixture(name));
        let [short, whole] = [draw::short(&page, 4_000, false), draw::terminal(&page, 4_000, false)];
        // A table that was cut has other widths.
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let whole: std::collections::HashSet<String> = words(&whole).into_iter().collect();
        let cut = short.lines().filter(|line| !line.contains("more rows were left out"));
        let missing: Vec<String> = cut.flat_map(words).filter(|word| !whole.contains(word)).collect();
        assert_eq!(missing, Vec::<String>::new(), "{name}");
        assert!(short.len() < draw::terminal(&page, 4_000, false).len(), "{name}");
    }
}

/// Looked at by whoever changes a story.
#[test]
fn short_views_are_as_they_were() {
    for name in FIXTURES {
        insta::assert_snapshot!(format!("short_{name}"), draw::short(&story::of(&fixture(name)), 80, false));
    }
}
