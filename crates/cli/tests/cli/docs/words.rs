//! The words of texts that users read: none is there that a reader would have to translate (CONTRIBUTING.md, "Words").

use super::*;

/// Where users read texts of ours, from the root of the sources: pages, and what others link or import.
const PAGES: &str = "\
    . docs docs/decisions .github/ISSUE_TEMPLATE crates/mark crates/mark/include crates/mark/python \
    crates/message python python/src/netfathom";
/// Words of one's own, each as lower-case words between which anything but letters stands.
const FORBIDDEN: &str = "\
    told, said, nobody, of which, whose, so many, made up, put off, puts off, self cost, cannot tell, \
    kept up, by turns, acknowledgement, acknowledgements";

pub fn forbidden(text: &str) -> Vec<&'static str> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let stands = |phrase: &&str| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        words.windows(phrase.len()).any(|window| window == phrase)
    };
    FORBIDDEN.split(", ").filter(stands).collect()
}

#[test]
fn pages_have_no_words_of_our_own() {
    let mut pages = Vec::new();
    for folder in PAGES.split(' ') {
        files(&sources().join(folder), &["md", "yml", "h", "py"], false, &mut pages);
    }
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

/// Comments, names and strings of all sources.
#[test]
fn sources_have_no_words_of_our_own() {
    let mut paths = Vec::new();
    ["crates", "python"]
        .iter()
        .for_each(|folder| files(&sources().join(folder), &["rs", "c", "h", "js", "py"], true, &mut paths));
    paths.retain(|path| !path.ends_with("docs/words.rs"));
    assert!(paths.len() > 900, "only {} sources were found", paths.len());
    // Names in records stay as they are, and `nobody` is a user of Unix. `self.cost` is code.
    let is_name = |line: &str| {
        line.contains("rename = ") || line.contains("cannot_tell") || line.to_lowercase().contains("nobody")
    };
    let mut wrong = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap().replace("\\n", " ");
        let lines: Vec<&str> = text.lines().map(|line| if is_name(line) { "" } else { line }).collect();
        for (at, two) in lines.windows(2).enumerate() {
            for word in forbidden(&two.join("\n")).into_iter().filter(|word| *word != "self cost") {
                wrong.push(format!("{}:{}: {word}: {}", path.display(), at + 1, two.join(" ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn words_are_found_as_they_are_read() {
    assert_eq!(forbidden("Nobody was told, of\n which two"), ["told", "nobody", "of which"]);
    assert_eq!(forbidden("made-up data; untold, whosever, `x`; is_told()"), ["told", "made up"]);
}
