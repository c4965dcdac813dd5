//! Pages as text. What draws them knows blocks, and no measurement.

mod bar;
pub(crate) mod escape;
mod grid;
pub mod markdown;
mod quantities;
mod sheet;

use crate::page::Page;
pub(crate) use sheet::printable;
use sheet::{Medium, Sheet};

/// The narrowest page that the tables fit on.
pub const LEAST_WIDTH: usize = 80;

/// Draws a page as text of at most `width` columns (80 where it is less), each line ended by a newline. With `color`
/// it has ANSI escapes; without, none at all, whatever the page says.
#[must_use]
pub fn terminal(page: &Page, width: usize, color: bool) -> String {
    Sheet::draw(page, width.max(LEAST_WIDTH), if color { Medium::Colored } else { Medium::Plain })
}
