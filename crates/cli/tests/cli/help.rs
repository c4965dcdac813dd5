//! The help pages: what a user reads first.

use std::sync::LazyLock;

use crate::child::{netfathom, run, sources};
use crate::refusals::refused_for;

/// A page as different readers get it; of no command it is the first.
pub struct Page {
    pub command: String,
    wide: String,
    narrow: String,
    short: String,
}

pub static PAGES: LazyLock<Vec<Page>> = LazyLock::new(|| pages(String::new()));

/// Those of the commands that the page lists, and that page, which is the last.
fn pages(command: String) -> Vec<Page> {
    let [wide, narrow, short] = [("--help", "100"), ("--help", "80"), ("-h", "80")]
        .map(|(help, columns)| page(&format!("{command} {help}"), columns));
    let (_, listed) = wide.split_once("\nCommands:\n").unwrap_or_default();
    let lines = listed.lines().map_while(|line| line.strip_prefix("  "));
    // A line that continues another begins with more blanks.
    let names = lines.filter_map(|line| line.split(' ').next()).filter(|name| !["", "help"].contains(name));
    let of = |name: &str| pages(format!("{command} {name}").trim_start().to_owned());
    let mut all: Vec<Page> = names.flat_map(of).collect();
    all.push(Page { command, wide, narrow, short });
    all
}

fn page(args: &str, columns: &str) -> String {
    run(netfathom(args).env("COLUMNS", columns)).quietly().out
}

#[test]
fn the_help_pages_are_these() {
    for Page { command, wide: page, .. } in &*PAGES {
        let name = if command.is_empty() { "help".into() } else { command.replace(' ', "_") };
        insta::assert_snapshot!(format!("help_{name}"), page);
    }
}

/// More than sixty lines scroll the usage away.
#[test]
fn the_help_fits_on_a_narrow_terminal_and_the_short_one_on_sixty_lines() {
    for Page { command, wide, narrow, short } in &*PAGES {
        let too_long = narrow.lines().find(|line| line.chars().count() > 80);
        assert_eq!(too_long, None, "{command}");
        let end = |page: &str| page.split_once("\nExamples:\n").map(|(_, end)| end.to_owned());
        assert_eq!(end(narrow), end(wide), "{command}: a line of its after_help is longer than 80");
        let lines = short.lines().count();
        assert!(lines <= 60, "{command}: {lines} lines");
    }
}

#[test]
fn the_first_page_has_every_exit_status() {
    let statuses = |page: &Page| {
        let part =
            page.wide.split_once("\nExit status:\n").map(|(_, part)| part.to_owned()).unwrap_or_default();
        let words = part.lines().take_while(|line| line.starts_with("  ")).collect::<Vec<_>>().join("  ");
        let numbers = words.split("  ").filter_map(|word| word.trim().parse().ok()).collect::<Vec<u8>>();
        numbers.into_iter().collect::<std::collections::BTreeSet<u8>>()
    };
    let first = statuses(PAGES.last().unwrap());
    for page in &*PAGES {
        let own = statuses(page);
        assert!(own.is_subset(&first), "{}: {own:?} are not all of {first:?}", page.command);
    }
    assert!(first.contains(&4), "{first:?}");
}

/// A capture of nothing costs nothing and teaches nothing.
#[test]
fn the_first_example_of_cost_captures_what_its_benchmark_sends() {
    let help = page("cost --help", "100");
    let file = |name: &str| std::fs::read_to_string(sources().join(name)).unwrap();
    for (name, text) in [
        ("cost --help", help),
        ("README.md", file("README.md")),
        ("docs/cost.md", file("docs/cost.md")),
        ("docs/tutorial.md", file("docs/tutorial.md")),
    ] {
        let first = text.lines().find(|line| line.trim_start().starts_with("netfathom cost ")).expect(name);
        assert!(
            first.contains("--phases loopback -- tcpdump -i lo ") || first.contains(" --load udp:"),
            "{name}: {first}"
        );
    }
}

#[test]
fn no_command_is_wrong_usage_and_shows_the_commands() {
    refused_for(&mut netfathom(""), 2, &["Usage: netfathom <COMMAND>"]);
}

#[test]
fn short_help_names_the_long_one_where_it_has_more() {
    for Page { command, narrow, short, .. } in &*PAGES {
        let options = |page: &str| page.lines().filter(|line| line.trim_start().starts_with("-")).count();
        let more = options(narrow) > options(short);
        assert!(!more || short.contains("(see more with '--help')"), "{command}: {short}");
    }
    let [short, long] = ["cost -h", "cost --help"].map(|args| page(args, "80"));
    assert!(
        !short.contains("--grace") && long.contains("--grace"),
        "an option under a heading is a rare one"
    );
}
