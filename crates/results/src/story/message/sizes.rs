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
    let mut groups = groups::groups(result);
    if let Some(home) = result.home() {
        // The short view has one table: that of the answer.
        groups.sort_by_key(|group| (group.placement, group.pair) != (home.placement, home.pair));
    }
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
    let tail = if quantity == Quantity::Time { "; p99: of all its trials together" } else { "" };
    page.note(&format!(
        "{first} in figures, the others as multiples of it ({better}){missing}, each ± half its 95 % interval between \
         trials{tail}; placement: U user space, K kernel, the client first"
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
    let heads = layers.iter().flat_map(|layer| {
        let p99 = has_p99(result, layer).then(|| "p99".to_owned());
        [heading(layer)].into_iter().chain(p99)
    });
    let mut table = Table::of("bytes").figures(heads);
    for bytes in group.sizes() {
        let of = |layer: &&Layer| {
            let p99 = has_p99(result, layer).then(|| p99(group, layer, bytes));
            [cell(result, group, layer, bytes)].into_iter().chain(p99)
        };
        table.row([number::count(bytes)].into_iter().chain(layers.iter().flat_map(of)));
    }
    page.table(table);
}

/// That of the first layer stands beside its median.
fn has_p99(result: &MessageResult, layer: &Layer) -> bool {
    Quantity::of(&result.plan) == Quantity::Time && result.plan.layers.first() == Some(layer)
}

fn p99(group: &Group<'_>, layer: &Layer, bytes: u64) -> String {
    let times = group.usable(layer, bytes).map(|cell| &cell.times).filter(|times| times.n > 0);
    times.map_or_else(|| "-".into(), |times| number::time(times.p99_ns))
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
