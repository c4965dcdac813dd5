//! The placements beside each other, and what cannot be.

use crate::page::{Page, Table};
use itertools::Itertools as _;
use netfathom_model::record::{AbsentCell, MessageResult};

use super::figure::Quantity;
use super::groups::{self, Group};
use super::plan::size_name;
use super::{caveats, charts, chosen};
use crate::story::number;

pub(super) fn draw(page: &mut Page, result: &MessageResult) {
    let groups = groups::groups(result);
    if result.plan.placements.len() > 1 {
        for pair in groups.iter().map(|group| group.pair).sorted_unstable().dedup() {
            let name = Quantity::of(&result.plan).name(&result.plan);
            page.heading(&format!("The placements on {}: {name}", groups::pair(result, pair)));
            let of_pair: Vec<&Group<'_>> = groups.iter().filter(|group| group.pair == pair).collect();
            page.choice(size_name(&result.plan), charts::placements(result, &of_pair));
            table(page, result, &of_pair);
        }
        caveats::where_kernel_ends_run(result).iter().for_each(|caveat| page.note(caveat));
    }
    groups::stand_ins(result).iter().for_each(|stand_in| page.note(stand_in));
    absent(page, &result.absent);
}

fn table(page: &mut Page, result: &MessageResult, groups: &[&Group<'_>]) {
    let quantity = Quantity::of(&result.plan);
    let mut table = Table::of("<layer").figures(groups.iter().map(|group| group.placement.name()));
    for bytes in chosen(&groups::all_sizes(result)) {
        table.row_across(&number::count(bytes), size_name(&result.plan));
        for layer in groups::layers(result) {
            let value = |group: &&Group<'_>| {
                let text = |cell| quantity.cell_text(&result.plan, cell);
                group.cell(layer, bytes).map_or_else(|| "-".into(), text)
            };
            let cells: Vec<String> = groups.iter().map(value).collect();
            if cells.iter().any(|cell| cell != "-") {
                table.row([layer.to_string()].into_iter().chain(cells));
            }
        }
    }
    page.table(table);
}

fn absent(page: &mut Page, absent: &[AbsentCell]) {
    if absent.is_empty() {
        return;
    }
    page.heading("Left out");
    for cell in absent {
        let of = groups::layer_or_all(cell.layer.as_ref());
        page.bullet(&format!("{}, {of}: {}", cell.placement.name(), cell.why));
        if !cell.nearest.is_empty() {
            page.detail(&format!("nearest: {}", cell.nearest));
        }
    }
}
