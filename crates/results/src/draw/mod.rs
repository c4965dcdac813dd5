//! Pages as text. What draws them knows blocks, and no measurement.

mod bar;
pub use bar::bar;
pub(crate) mod escape;
mod grid;
mod sheet;

use textwrap::{Options, WordSplitter};

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

/// Draws the short view of a page, on at most [`MOST_LINES`] lines. Below it there is room for where the rest is. The notes under
/// tables make room for their rows, the last ones first.
pub fn short(page: &Page, width: usize, color: bool) -> String {
    let mut page = page.short();
    let whole = terminal(&page, width, color);
    let (lines, room) = (whole.lines().count(), MOST_LINES - LEFT_OUT);
    if lines <= MOST_LINES {
        return whole;
    }
    let mut left = lines;
    while left > room && page.drop_note() {
        left = terminal(&page, width, color).lines().count();
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

/// How prose is wrapped: at the hyphens of words, but not within what is copied, such as the name of a quantity, a path
/// or an option.
pub fn wrapping(width: usize) -> Options<'static> {
    Options::new(width).word_splitter(WordSplitter::Custom(|word| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '`' | '\''));
        let is_prose = !bare.starts_with('-') && bare.chars().all(|c| c.is_alphabetic() || c == '-');
        if is_prose { WordSplitter::HyphenSplitter.split_points(word) } else { Vec::new() }
    }))
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
}
