//! A table for each placement and pair of processors: a row a size, a column a layer.

use crate::page::{Page, Table};
use itertools::Itertools as _;
use netfathom_model::layer::Layer;
use netfathom_model::record::MessageResult;

use super::figure::Quantity;
use super::groups::{self, Group};
use super::{caveats, charts, heading};
use crate::story::number;

pub(super) fn draw(page: &mut Page, result: &MessageResult) {
    let (plan, quantity) = (&result.plan, Quantity::of(&result.plan));
    let groups = groups::groups(result);
    let several = plan.layers.len() > 1;
    let of = plan
        .layers
        .first()
        .filter(|_| several)
        .map_or_else(String::new, |first| format!(" (×: times that of {first})"));
    for (i, group) in groups.iter().enumerate() {
        let head = if i == 0 { Page::main } else { Page::heading };
        head(page, &format!("{}: {}{of}", group.name(result), quantity.name(plan)));
        page.chart(charts::over_size(result, group));
        table(page, result, group);
        if i == 0 && several {
            page.note(&columns(&groups::layers(result)));
        }
    }
    let (false, Some(first)) = (groups.is_empty(), plan.layers.first()) else { return };
    let better = if quantity == Quantity::Time { "less is faster" } else { "more is faster" };
    let lacks = |group: &Group<'_>| group.sizes().iter().any(|&size| group.usable(first, size).is_none());
    let missing = match groups.iter().any(lacks) {
        true => "; where it is missing or VOID, all are in figures",
        false => "",
    };
    page.note(&format!(
        "{first} in figures, the others as multiples of it ({better}){missing}, each ± half its 95 % interval between \
         trials; placement: U user space, K kernel, the client first"
    ));
    caveats::where_kernel_ends_run(result).iter().for_each(|caveat| page.note(caveat));
}

/// `two: header and body by a call each; adaptive: the library, ...`
fn columns(layers: &[&Layer]) -> String {
    let meanings = layers.iter().map(|layer| layer.meaning());
    meanings.map(|(name, meaning)| format!("{name}: {meaning}")).unique().join("; ")
}

fn table(page: &mut Page, result: &MessageResult, group: &Group<'_>) {
    let layers = group.layers(&result.plan);
    let mut table = Table::of("bytes").figures(layers.iter().map(|layer| heading(layer)));
    for bytes in group.sizes() {
        let mut cells = vec![number::count(bytes)];
        cells.extend(layers.iter().map(|layer| cell(result, group, layer, bytes)));
        table.row(cells);
    }
    page.table(table);
}

fn cell(result: &MessageResult, group: &Group<'_>, layer: &Layer, bytes: u64) -> String {
    let quantity = Quantity::of(&result.plan);
    let Some(cell) = group.cell(layer, bytes) else { return "-".into() };
    match group.reference(&result.plan, bytes).filter(|reference| !reference.is_void()) {
        Some(reference) if !std::ptr::eq(cell, reference) => {
            // Close together, so that the usual six layers have room beside each other.
            let ratio = quantity.ratio_text(&result.plan, cell, reference).replace(" ± ", "±");
            if ratio.starts_with(|first: char| first.is_ascii_digit()) { format!("×{ratio}") } else { ratio }
        }
        // Without the first layer there is nothing to compare with.
        _ => quantity.cell_text(&result.plan, cell),
    }
}
