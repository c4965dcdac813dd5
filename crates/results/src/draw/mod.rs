//! Pages as text. What draws them knows blocks, and no measurement.

mod bar;
pub(crate) mod escape;
mod grid;
mod sheet;

use crate::page::{LEAST_WIDTH, Page};
use sheet::{Medium, Sheet};

/// Draws a page as text of at most `width` columns (80 where it is less), each line ended by a newline. With `color`
/// it has ANSI escapes; without, none at all, whatever the page says.
#[must_use]
pub fn terminal(page: &Page, width: usize, color: bool) -> String {
    Sheet::draw(page, width.max(LEAST_WIDTH), if color { Medium::Colored } else { Medium::Plain })
}

/// Draws a page as GitHub's Markdown. Nothing in it is obeyed: what the page says is text.
#[must_use]
pub fn markdown(page: &Page) -> String {
    // The reader's program wraps.
    Sheet::draw(page, usize::MAX, Medium::Markdown)
}
