//! The words of texts that users read: none is there that a reader would have to translate (CONTRIBUTING.md, "Words").

use std::fs;

use super::*;
use crate::child::{netfathom, out, run};

/// Where users read texts of ours, from the root of the sources: pages, and what others link or import.
const PAGES: [&str; 10] = [
    ".",
    "docs",
    "docs/decisions",
    ".github/ISSUE_TEMPLATE",
    "crates/mark",
    "crates/mark/include",
    "crates/mark/python",
    "crates/message",
    "python",
    "python/src/netfathom",
];
/// Crates with strings that reach a terminal, a report or a record.
const SPEAKING: [&str; 11] =
    ["bpf", "capture", "cli", "fleet", "mark", "measure", "message", "model", "papers", "results", "sys"];
/// Words of one's own, each as lower-case words between which anything but letters stands.
const FORBIDDEN: [&str; 13] = [
    "told",
    "said",
    "nobody",
    "of which",
    "whose",
    "so many",
    "made up",
    "put off",
    "puts off",
    "self cost",
    "cannot tell",
    "kept up",
    "by turns",
];

fn forbidden(text: &str) -> Vec<&'static str> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let stands = |phrase: &&&str| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        words.windows(phrase.len()).any(|window| window == phrase)
    };
    FORBIDDEN.iter().filter(stands).copied().collect()
}

/// A page without its code, which may have names of its own.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        fenced ^= line.trim_start().starts_with("```");
        if !fenced {
            lines.push((at + 1, line.split('`').step_by(2).collect()));
        }
    }
    lines
}

/// The texts for users in a program's source: literals of Rust and JavaScript, and the comments of which help is made.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    Rust,
    /// Doc comments are the help.
    Arguments,
    Script,
}

/// The literals of a source up to its tests, with their lines.
fn literals(text: &str, source: Source) -> Vec<(usize, String)> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['"', '/', '\'', '`']) {
        let line = 1 + text[..text.len() - rest.len() + at].matches('\n').count();
        let here = &rest[at..];
        let length = if here.starts_with("//") {
            let length = here.find('\n').unwrap_or(here.len());
            if source == Source::Arguments && here.starts_with("///") {
                found.push((line, here[..length].to_owned()));
            }
            length
        } else if here.starts_with("/*") {
            here.find("*/").map_or(here.len(), |end| end + 2)
        } else {
            let quote = here.as_bytes()[0];
            let hashes = rest[..at].bytes().rev().take_while(|&byte| byte == b'#').count();
            let raw = rest[..at - hashes].ends_with('r') && source != Source::Script;
            let literal = match (quote, source) {
                (b'"', _) if raw => {
                    let end = format!("\"{}", "#".repeat(hashes));
                    here[1..].find(&end).map(|at| 1 + at + end.len())
                }
                (b'"', _) | (b'\'' | b'`', Source::Script) => ends(here, quote),
                // A character, and no lifetime.
                (b'\'', _) if here[1..].starts_with('\\') => ends(here, quote),
                (b'\'', _) => here.char_indices().nth(2).filter(|&(_, c)| c == '\'').map(|(end, _)| end + 1),
                _ => None,
            };
            if let Some(length) = literal.filter(|&length| length > 3) {
                found.push((line, here[..length].to_owned()));
            }
            literal.unwrap_or(1)
        };
        rest = &here[length.max(1)..];
    }
    found
}

/// The length of a literal with its quotes.
fn ends(text: &str, quote: u8) -> Option<usize> {
    let mut escaped = false;
    text.bytes().enumerate().skip(1).find_map(|(at, byte)| {
        let end = byte == quote && !escaped;
        escaped = byte == b'\\' && !escaped;
        end.then_some(at + 1)
    })
}

/// The names in braces are those of the source, not words that are printed.
fn printed(literal: &str) -> String {
    let mut parts = literal.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + " " + part.split_once('}').map_or(part, |(_, after)| after))
}

fn files(folder: &Path, kinds: &[&str], deep: bool, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() && deep {
            files(&path, kinds, deep, found);
        } else if path.extension().is_some_and(|kind| kinds.iter().any(|k| kind == *k)) {
            found.push(path);
        }
    }
}

#[test]
fn pages_have_no_words_of_our_own() {
    let mut pages = Vec::new();
    PAGES
        .iter()
        .for_each(|folder| files(&sources().join(folder), &["md", "yml", "h", "py"], false, &mut pages));
    assert!(pages.len() > 60, "{pages:?}");
    let mut wrong = Vec::new();
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let code = page.extension().is_some_and(|kind| kind == "h" || kind == "py");
        for (at, line) in prose(&text) {
            // Of code, its comments and docstrings: lines that are sentences.
            let read = !code
                || line.trim_start().starts_with(['*', '/', '#', '"'])
                || !line.contains(['=', '(', ';']);
            for word in forbidden(&line).into_iter().filter(|_| read) {
                wrong.push(format!("{}:{at}: {word}: {}", page.display(), line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn strings_have_no_words_of_our_own() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for name in SPEAKING {
        let (folder, mut paths) = (sources().join("crates").join(name).join("src"), Vec::new());
        files(&folder, &["rs", "js"], true, &mut paths);
        let tests = |path: &Path| path.iter().any(|part| part == "tests" || part == "tests.rs");
        for path in paths.iter().filter(|path| !tests(path.strip_prefix(&folder).unwrap())) {
            let source = match path.extension().is_some_and(|kind| kind == "js") {
                true => Source::Script,
                false if path.to_string_lossy().contains("/cli/src/args") => Source::Arguments,
                false => Source::Rust,
            };
            for (at, literal) in literals(&fs::read_to_string(path).unwrap(), source) {
                seen += 1;
                for word in forbidden(&printed(&literal)) {
                    wrong.push(format!("{}:{at}: {word}: {literal}", path.display()));
                }
            }
        }
    }
    assert!(seen > 3000, "only {seen} strings were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn manual_pages_have_no_words_of_our_own() {
    let dir = out();
    let ended = run(netfathom("man").arg(dir.path()));
    assert_eq!(ended.status, 0, "{}", ended.err);
    let mut pages = Vec::new();
    files(dir.path(), &["1"], false, &mut pages);
    assert!(pages.len() > 20, "{pages:?}");
    for page in pages {
        let wrong = forbidden(&fs::read_to_string(&page).unwrap());
        assert!(wrong.is_empty(), "{}: {wrong:?}", page.display());
    }
}

#[test]
fn words_are_found_as_they_are_read() {
    assert_eq!(forbidden("Nobody was told, of\n which two"), ["told", "nobody", "of which"]);
    assert_eq!(forbidden("made-up data; untold, whosever, `x`"), ["made up"]);
    let source = "let x = \"a \\\" said\"; // told\n/// whose\nf('\"', \"{told} b\"); fn g<'a>() {}\n#[cfg(test)]\nmod tests {\n\"nobody\" }";
    let of =
        |kind| literals(source, kind).into_iter().map(|(at, text)| (at, printed(&text))).collect::<Vec<_>>();
    let rust = [(1, "\"a \\\" said\"".to_owned()), (3, "\"  b\"".to_owned())];
    assert_eq!(of(Source::Rust), rust);
    assert_eq!(of(Source::Arguments)[1], (2, "/// whose".to_owned()));
    assert_eq!(literals("a = 'it' + `x ${said} y`;", Source::Script).len(), 2);
}
