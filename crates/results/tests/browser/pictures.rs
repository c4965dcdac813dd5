//! Pictures of a page, in a test: found wherever they stand.

use netfathom_results::page::{Bars, Block, Chart, Page};

/// Every block of a page, those that must be opened or chosen too, with what names of charts begin with there.
fn blocks(page: &Page) -> Vec<(String, &Block)> {
    let mut found = Vec::new();
    of_page(page, "", &mut found);
    found
}

fn of_page<'a>(page: &'a Page, scope: &str, found: &mut Vec<(String, &'a Block)>) {
    let all = page.lead.blocks.iter().chain(page.sections.iter().flat_map(|section| &section.blocks));
    all.for_each(|block| of_block(block, scope, found));
}

fn of_block<'a>(block: &'a Block, scope: &str, found: &mut Vec<(String, &'a Block)>) {
    found.push((scope.to_owned(), block));
    match block {
        Block::Details { blocks, .. } => blocks.iter().for_each(|block| of_block(block, scope, found)),
        Block::Choice { options, .. } => {
            options.iter().flat_map(|(_, blocks)| blocks).for_each(|block| of_block(block, scope, found));
        }
        Block::Nested { id, page, .. } => of_page(page, &format!("{id}-"), found),
        _ => {}
    }
}

/// The charts with their names in the report.
pub fn charts(page: &Page) -> Vec<(String, &Chart)> {
    let mut found = Vec::new();
    for (scope, block) in blocks(page) {
        if let Block::Chart(chart) = block {
            found.push((scope + &chart.id, chart));
        }
    }
    found
}

pub fn bars(page: &Page) -> Vec<&Bars> {
    let mut found = Vec::new();
    for (_, block) in blocks(page) {
        if let Block::Bars(bars) = block {
            found.push(bars);
        }
    }
    found
}
