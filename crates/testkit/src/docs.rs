//! The commands that the documentation shows, so that tests can try them.
//!
//! Commands stand in fenced blocks of the kind `sh`. A comment before such a block says what is special about it:
//!
//! - `<!-- needs: root tcpdump -->`: `root`, or programs, without which it is skipped;
//! - `<!-- not run: why -->`: it is not run, and why; its options are looked at all the same.

use std::fs;
use std::path::{Path, PathBuf};

mod words;

pub use words::calls;

/// What a comment before a block begins and ends with.
const NOT_RUN: &str = "<!-- not run:";
const NEEDS: &str = "<!-- needs:";
const END: &str = "-->";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The page's path, from the root of the sources.
    pub page: PathBuf,
    /// The line where it begins.
    pub line: usize,
    pub text: String,
    /// Why it is not run, where it is not.
    pub not_run: Option<String>,
    /// What it needs: `root`, or the names of programs.
    pub needs: Vec<String>,
    /// Whether it is fenced as `sh`; otherwise it is indented, or fenced as something else, which no page of the book
    /// does with commands.
    pub fenced: bool,
}

/// The pages of the book and what leads to them, by their paths from `sources`.
pub fn pages(sources: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(sources.join("docs")).expect("docs");
    let names = entries.map(|entry| PathBuf::from("docs").join(entry.expect("an entry").file_name()));
    let mut pages: Vec<PathBuf> =
        names.filter(|path| path.extension().is_some_and(|kind| kind == "md")).collect();
    pages.push("README.md".into());
    pages.sort();
    pages
}

/// The blocks of commands of a page: fenced ones of the kind `sh`, and all others in which netfathom is called.
pub fn blocks(sources: &Path, page: &Path) -> Vec<Block> {
    let text = fs::read_to_string(sources.join(page)).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
    let mut blocks = Vec::new();
    let mut comment = "";
    let mut lines = text.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let (kind, inner) = if let Some(kind) = line[indent..].strip_prefix("```") {
            let inner: Vec<&str> =
                lines.by_ref().map(|(_, line)| line).take_while(|line| !is_fence(line)).collect();
            (Some(kind), inner.iter().map(|line| line.get(indent..).unwrap_or("")).collect())
        } else if indent >= 4 {
            let rest = std::iter::from_fn(|| lines.next_if(|(_, line)| line.starts_with("    ")));
            (
                None,
                std::iter::once(line)
                    .chain(rest.map(|(_, line)| line))
                    .map(str::trim_start)
                    .collect::<Vec<_>>(),
            )
        } else {
            if line.starts_with(NOT_RUN) || line.starts_with(NEEDS) {
                comment = line;
            } else if !line.trim().is_empty() {
                comment = "";
            }
            continue;
        };
        let calls = inner.iter().any(|line| line.trim_start_matches("$ ").starts_with("netfathom "));
        if kind == Some("sh") || calls {
            blocks.push(Block {
                page: page.to_owned(),
                line: at + 1,
                text: inner.iter().flat_map(|line| [line, "\n"]).collect(),
                not_run: inside(comment, NOT_RUN),
                needs: inside(comment, NEEDS)
                    .unwrap_or_default()
                    .split_whitespace()
                    .map(Into::into)
                    .collect(),
                fenced: kind == Some("sh"),
            });
        }
        comment = "";
    }
    blocks
}

/// The commands in backquotes in a page's tables, each with its line.
pub fn tabled(sources: &Path, page: &Path) -> Vec<(usize, String)> {
    let text = fs::read_to_string(sources.join(page)).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
    let rows = text.lines().enumerate().filter(|(_, line)| line.starts_with('|'));
    let quoted = rows.flat_map(|(at, row)| row.split('`').skip(1).step_by(2).map(move |code| (at + 1, code)));
    let commands = quoted.filter(|(_, code)| code.trim_start_matches("sudo ").starts_with("netfathom "));
    commands.map(|(line, code)| (line, code.to_owned())).collect()
}

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

fn inside(comment: &str, begin: &str) -> Option<String> {
    let text = comment.strip_prefix(begin)?.trim_end().strip_suffix(END)?.trim();
    (!text.is_empty()).then(|| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_tables_are_found() {
        let dir = std::env::temp_dir().join(format!("netfathom-tables-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let text = "`netfathom a`\n\n| `x` | `netfathom b` |\n| `netfathom-mark` | `sudo netfathom c`, `netfathom d` |\n";
        fs::write(dir.join("page.md"), text).unwrap();
        let found = tabled(&dir, Path::new("page.md"));
        fs::remove_dir_all(&dir).unwrap();
        let expected = [(3, "netfathom b"), (4, "sudo netfathom c"), (4, "netfathom d")];
        assert_eq!(found, expected.map(|(line, code)| (line, code.to_owned())));
    }

    #[test]
    fn blocks_are_found_with_their_comments() {
        let dir = std::env::temp_dir().join(format!("netfathom-docs-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let text = "# A\n\n```sh\none\n```\n\n<!-- not run: no second host -->\n\n```sh\ntwo\n```\n<!-- needs: root jq -->\n\
                    ```sh\nthree \\\n  four\n```\n```json\n{}\n```\n```bash\nnetfathom host\n```\n\n    netfathom host\n    other\n\n    just text\n";
        fs::write(dir.join("page.md"), text).unwrap();
        let found = blocks(&dir, Path::new("page.md"));
        fs::remove_dir_all(&dir).unwrap();
        let texts: Vec<&str> = found.iter().map(|block| block.text.as_str()).collect();
        assert_eq!(
            texts,
            ["one\n", "two\n", "three \\\n  four\n", "netfathom host\n", "netfathom host\nother\n"]
        );
        assert_eq!(found[0], Block { not_run: None, needs: vec![], line: 3, ..found[0].clone() });
        assert_eq!(found[1].not_run.as_deref(), Some("no second host"));
        assert_eq!(found[2].needs, ["root", "jq"]);
        assert_eq!(
            found.iter().map(|block| block.fenced).collect::<Vec<_>>(),
            [true, true, true, false, false]
        );
    }
}
