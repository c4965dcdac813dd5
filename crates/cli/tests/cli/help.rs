//! The help pages: what a user reads first.

use crate::child::{netfathom, run};

const PAGES: [&str; 19] = [
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
    "cost --help",
    "light --help",
    "marks --help",
    "report --help",
    "export --help",
    "host --help",
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
fn no_command_is_wrong_usage_and_shows_the_commands() {
    let ended = run(&mut netfathom(""));
    assert_eq!((ended.status, ended.out.as_str()), (2, ""));
    assert!(ended.err.contains("Usage: netfathom <COMMAND>"), "{}", ended.err);
}
