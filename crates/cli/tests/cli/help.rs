//! The help pages: what a user reads first.

use crate::child::{netfathom, run};

const PAGES: &[&str] = &[
    "--help",
    "stack --help",
    "load --help",
    "load send --help",
    "load sink --help",
    "capacity --help",
    "reverse --help",
    "join --help",
    "reproduce --help",
    "ttcp --help",
    "ttcp sweep --help",
    "message --help",
    "message oneway --help",
    "message serve --help",
    "reverse serve --help",
    "message pingpong --help",
    "message post --help",
    "cost --help",
    "watch --help",
    "fleet --help",
    "fleet hosts --help",
    "fleet mesh --help",
    "fleet load --help",
    "fleet stack --help",
    "fleet resume --help",
    "fleet up --help",
    "fleet manifest --help",
    "agent --help",
    "light --help",
    "marks --help",
    "report --help",
    "runs --help",
    "runs list --help",
    "runs show --help",
    "runs tag --help",
    "runs remove --help",
    "runs prune --help",
    "view --help",
    "compare --help",
    "export --help",
    "host --help",
    "completions --help",
];

fn page(args: &str, columns: &str) -> String {
    let ended = run(netfathom(args).env("COLUMNS", columns));
    assert_eq!((ended.status, ended.err.as_str()), (0, ""));
    ended.out
}

#[test]
fn the_help_pages_are_these() {
    for args in PAGES {
        let words: Vec<&str> = args.split(' ').filter(|&word| word != "--help").collect();
        let name = format!("help_{}", if words.is_empty() { "help".into() } else { words.join("_") });
        let page = page(args, "100");
        insta::assert_snapshot!(name, page);
    }
}

#[test]
fn the_help_fits_on_a_narrow_terminal() {
    for args in PAGES {
        for line in page(args, "80").lines() {
            assert!(line.chars().count() <= 80, "{args}: {line}");
        }
    }
}

#[test]
fn examples_and_notes_are_broken_where_they_were_written() {
    for args in PAGES {
        let [narrow, wide] = ["80", "100"].map(|columns| page(args, columns));
        let end = |page: &str| page.split_once("\nExamples:\n").map(|(_, end)| end.to_owned());
        assert_eq!(end(&narrow), end(&wide), "{args}: a line of its after_help is longer than 80");
    }
}

#[test]
fn the_first_page_has_every_exit_status() {
    let statuses = |args: &str| {
        let page = page(args, "100");
        let part = page.split_once("\nExit status:\n").map(|(_, part)| part.to_owned()).unwrap_or_default();
        let words = part.lines().take_while(|line| line.starts_with("  ")).collect::<Vec<_>>().join("  ");
        let numbers = words.split("  ").filter_map(|word| word.trim().parse().ok()).collect::<Vec<u8>>();
        numbers.into_iter().collect::<std::collections::BTreeSet<u8>>()
    };
    let first = statuses("--help");
    for args in PAGES {
        assert!(statuses(args).is_subset(&first), "{args}: {:?} are not all of {first:?}", statuses(args));
    }
    assert!(first.contains(&4), "{first:?}");
}

/// A capture of nothing costs nothing and teaches nothing.
#[test]
fn the_first_example_of_cost_captures_what_its_benchmark_sends() {
    let help = page("cost --help", "100");
    let sources = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = |name: &str| std::fs::read_to_string(sources.join(name)).unwrap();
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
    let ended = run(&mut netfathom(""));
    assert_eq!((ended.status, ended.out.as_str()), (2, ""));
    assert!(ended.err.contains("Usage: netfathom <COMMAND>"), "{}", ended.err);
}

/// More than that scrolls the usage away.
#[test]
fn short_help_fits_on_sixty_lines() {
    for args in PAGES {
        let args = args.replace("--help", "-h");
        let lines = page(&args, "80").lines().count();
        assert!(lines <= 60, "{args}: {lines} lines");
    }
}

#[test]
fn short_help_names_the_long_one_where_it_has_more() {
    for args in PAGES {
        let [short, long] = [&args.replace("--help", "-h"), *args].map(|args| page(args, "80"));
        let more = long.lines().filter(|line| line.trim_start().starts_with("-")).count()
            > short.lines().filter(|line| line.trim_start().starts_with("-")).count();
        assert!(!more || short.contains("(see more with '--help')"), "{args}: {short}");
    }
    let [short, long] = ["cost -h", "cost --help"].map(|args| page(args, "80"));
    assert!(
        !short.contains("--grace") && long.contains("--grace"),
        "an option under a heading is a rare one"
    );
}
