//! Single sockets, where they were asked for.

use netfathom_model::path::Direction;
use netfathom_model::record::{WatchResult, WatchSocket};

use crate::page::{Page, Table};
use crate::story::number;

/// Beyond these they are taken together; the record has more.
const MOST_ROWS: usize = 8;

pub(super) fn sockets(page: &mut Page, result: &WatchResult) {
    let Some(others) = &result.other_sockets else { return };
    if result.sockets.is_empty() && others.messages() == 0 {
        return;
    }
    let ways: Vec<Direction> =
        [Direction::Rx, Direction::Tx].into_iter().filter(|&way| result.plan.watches(way)).collect();
    // The tables of two directions leave no room for it.
    if ways.len() > 1 {
        page.heading("Sockets with the most messages")
    } else {
        page.main("Sockets with the most messages")
    }
    let mut table = Table::of("<peer|<process");
    for &way in &ways {
        let name = if way == Direction::Rx { "received" } else { "sent" };
        table = table.figures([name, "mean", "p99"]).words((ways.len() == 1).then_some("largest stage"));
    }
    let (shown, rest) = result.sockets.split_at(result.sockets.len().min(MOST_ROWS));
    let mut others = others.clone();
    rest.iter().for_each(|socket| others.add(socket));
    let peer =
        |socket: &WatchSocket| socket.peer.as_ref().or(socket.local.as_ref()).cloned().unwrap_or_default();
    shown.iter().for_each(|socket| table.row(row(peer(socket), socket, &ways)));
    if others.messages() > 0 {
        table.row(row("all others".into(), &others, &ways));
    }
    page.table(table);
}

fn row(name: String, socket: &WatchSocket, ways: &[Direction]) -> Vec<String> {
    let process = socket.process.as_ref().map_or_else(String::new, |of| format!("{} ({})", of.name, of.pid));
    let mut cells = vec![name, process];
    for &direction in ways {
        let way = socket.way(direction);
        let total = &way.total;
        let time = |ns: f64| if total.n > 0 { number::mean(ns) } else { "-".into() };
        cells.extend([number::short_count(total.n), time(total.mean_ns), time(total.p99_ns as f64)]);
        cells.extend((ways.len() == 1).then(|| way.largest()));
    }
    cells
}
