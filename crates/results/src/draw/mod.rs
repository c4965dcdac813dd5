//! Pages as text. What draws them knows blocks, and no measurement.

mod bar;
pub use bar::bar;
pub(crate) mod escape;
mod grid;
mod sheet;

use std::mem;

use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter};

use crate::page::{LEAST_WIDTH, Page};
use sheet::{Medium, Sheet};

/// Lines of a short view: with those below it a page of 40.
pub const MOST_LINES: usize = 37;

/// Lines that say that some were left out.
const LEFT_OUT: usize = 2;

/// Draws a page as text of at most `width` columns (80 where it is less), each line ended by a newline. With `color`
/// it has ANSI escapes; without, none at all, whatever the page says.
pub fn terminal(page: &Page, width: usize, color: bool) -> String {
    Sheet::draw(page, width.max(LEAST_WIDTH), medium(color))
}

/// Draws the short view of a page, on at most [`MOST_LINES`] lines, beside those of what an option asked for. Below it there is room
/// for where the rest is. The notes under tables make room for their rows, the last ones first.
pub fn short(page: &Page, width: usize, color: bool) -> String {
    let mut page = page.short();
    let lines_of = |page: &Page| terminal(page, width, color).lines().count();
    let mut others = page.clone();
    others.sections.retain(|section| !section.is_whole);
    let (whole, room) = (terminal(&page, width, color), MOST_LINES - LEFT_OUT);
    let lines = whole.lines().count();
    let asked_for = lines.saturating_sub(lines_of(&others));
    if lines <= MOST_LINES + asked_for {
        return whole;
    }
    let mut left = lines;
    while left > room + asked_for && page.drop_note() {
        left = lines_of(&page);
    }
    Sheet::without(lines.saturating_sub(left), &page, width.max(LEAST_WIDTH), room, medium(color))
}

fn medium(color: bool) -> Medium {
    if color { Medium::Colored } else { Medium::Plain }
}

/// Draws a page as GitHub's Markdown. Nothing in it is obeyed: what the page says is text.
pub fn markdown(page: &Page) -> String {
    // The reader's program wraps.
    Sheet::draw(page, usize::MAX, Medium::Markdown)
}

/// How prose is wrapped: at the hyphens of words, but not within what is copied, such as the name of a quantity, a path,
/// an option or a command in backquotes.
pub fn wrapping(width: usize) -> Options<'static> {
    let splitter = WordSplitter::Custom(|word| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '`' | '\''));
        let is_prose = !bare.starts_with('-') && bare.chars().all(|c| c.is_alphabetic() || c == '-');
        if is_prose { WordSplitter::HyphenSplitter.split_points(word) } else { Vec::new() }
    });
    Options::new(width).word_separator(WordSeparator::Custom(words)).word_splitter(splitter)
}

/// The same of a text: a command that is wider than a line stays whole.
fn wrapping_of(text: &str, width: usize) -> Options<'static> {
    let has_command = words(text).any(|word| command(&word).is_some_and(|rest| rest.contains('`')));
    wrapping(width).break_words(!has_command)
}

/// A command is one word: in two lines it cannot be pasted.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let (mut from, mut to, mut is_open) = (0, 0, false);
    Box::new(WordSeparator::AsciiSpace.find_words(line).filter_map(move |word| {
        to += word.word.len() + word.whitespace.len();
        is_open = match is_open {
            true => !word.contains('`'),
            false => command(&word).is_some_and(|rest| !rest.contains('`')) && line[to..].contains('`'),
        };
        (!is_open).then(|| Word::from(&line[mem::replace(&mut from, to)..to]))
    }))
}

/// What follows the backquote that begins a command.
fn command(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('`')?;
    rest.starts_with(|c: char| c.is_alphanumeric() || c == '/').then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_whole_where_they_fit() {
        let lines = |text: &str| textwrap::wrap(text, wrapping(24)).join("\n");
        assert_eq!(lines("a well-known cross-check, and so on"), "a well-known cross-\ncheck, and so on");
        for name in [
            "g.with-the-program.time",
            "runs/a-run-of-mine",
            "--cross-checks",
            "20261122-stack-74f97ed9",
            "`my-own-agent-1`",
        ] {
            let text = format!("it is worse in {name}");
            assert!(lines(&text).lines().any(|line| line == name), "{}", lines(&text));
        }
        assert_eq!(lines("at a-name.that-is-wider-than-a-line").lines().count(), 3);
    }

    #[test]
    fn a_command_is_on_one_line() {
        let lines = |text: &str| textwrap::wrap(text, wrapping_of(text, 24)).join("\n");
        assert_eq!(lines("find out on what (`strace -p 7`), or"), "find out on what\n(`strace -p 7`), or");
        let wide = "`echo -1 > '/sys/fs/cgroup/a/cpu.cfs_quota_us'`";
        assert_eq!(lines(&format!("raise it, or: {wide}")), format!("raise it, or:\n{wide}"));
        for text in
            ["a ` that ends nowhere, in a text of two lines", "a ` b ` or a-name.that-is-wider-than-a-line"]
        {
            assert!(lines(text).lines().all(|line| line.len() <= 24), "{}", lines(text));
        }
    }
}
