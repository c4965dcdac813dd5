//! Pages as text. What draws them knows blocks, and no measurement.

mod bar;
pub(crate) mod escape;
mod grid;
mod sheet;

use crate::page::{LEAST_WIDTH, Page};
use sheet::{Medium, Sheet};

/// Lines of a short view: with those below it a page of 40.
pub const MOST_LINES: usize = 37;

/// Lines that say that some were left out.
const LEFT_OUT: usize = 2;

/// Draws a page as text of at most `width` columns (80 where it is less), each line ended by a newline. With `color`
/// it has ANSI escapes; without, none at all, whatever the page says.
pub fn terminal(page: &Page, width: usize, color: bool) -> String {
    Sheet::draw(page, width.max(LEAST_WIDTH), usize::MAX, medium(color))
}

/// Draws the short view of a page, on at most [`MOST_LINES`] lines. Below it there is room for where the rest is.
pub fn short(page: &Page, width: usize, color: bool) -> String {
    Sheet::draw(&page.short(), width.max(LEAST_WIDTH), MOST_LINES - LEFT_OUT, medium(color))
}

fn medium(color: bool) -> Medium {
    if color { Medium::Colored } else { Medium::Plain }
}

/// Draws a page as GitHub's Markdown. Nothing in it is obeyed: what the page says is text.
pub fn markdown(page: &Page) -> String {
    // The reader's program wraps.
    Sheet::draw(page, usize::MAX, usize::MAX, Medium::Markdown)
}
