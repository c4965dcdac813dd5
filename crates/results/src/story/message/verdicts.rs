//! The cells that are not VALID, and why.

use crate::page::{Cell, Page, Table};
use netfathom_model::record::{MessageCell, MessageResult};

use super::groups;
use crate::story::{MOST_ROWS, headline, more, number};

/// The worst cells come first.
pub(super) fn draw(page: &mut Page, result: &MessageResult) {
    let mut doubted: Vec<&MessageCell> = result.cells.iter().filter(|c| !c.verdict.is_valid()).collect();
    if doubted.is_empty() {
        return;
    }
    doubted.sort_by_key(|cell| std::cmp::Reverse(cell.verdict.level));
    page.heading("Cells that are not VALID");
    let mut table = Table::of("bytes|<verdict|<cell: reasons");
    for cell in doubted.iter().take(MOST_ROWS) {
        let reasons: Vec<&str> = cell.verdict.reasons.iter().map(|reason| reason.text.as_str()).collect();
        let row = [Cell::from(number::count(cell.bytes)), headline::mark(&cell.verdict)];
        table.row_open(row, &format!("{}: {}", groups::cell_name(result, cell), reasons.join("; ")));
    }
    page.table(table);
    more(page, doubted.len(), "cell");
}
