//! Single sockets, where they were asked for, and the processes that they are of.

use netfathom_model::path::Direction;
use netfathom_model::plan::WatchTarget;
use netfathom_model::record::{WatchProcesses, WatchResult, WatchSocket, WatchUnread, end_named};

use crate::page::{Page, Table};
use crate::story::number;

/// Beyond these they are taken together; the record has more.
const MOST_ROWS: usize = 8;
/// Of these, for sockets that no thread reads, which come first.
const MOST_UNREAD: usize = 4;

/// By their names, if there are several.
pub(super) fn processes(page: &mut Page, result: &WatchResult) {
    if result.processes.iter().map(|of| of.pids.len()).sum::<usize>() < 2 {
        return;
    }
    let ways = ways(result);
    let is_main = ways.len() == 1 || result.plan.target == WatchTarget::All;
    page.head("Processes with the most messages", is_main);
    let (named, unnamed): (Vec<_>, Vec<_>) = result.processes.iter().partition(|of| of.name.is_some());
    let mut others = WatchSocket::default();
    unnamed.iter().for_each(|of| others.add(&of.sockets));
    let rows = named.iter().map(|of| (vec![numbered(of, "")], &of.sockets));
    page.table(table("<process", rows, others, &ways));
}

/// `redis-server (712)` or `nginx (4 processes)`; `pid` stands before a number.
pub(super) fn numbered(of: &WatchProcesses, pid: &str) -> String {
    let name = of.name.as_deref().unwrap_or_default();
    match &of.pids[..] {
        [number] => format!("{name} ({pid}{number})"),
        pids => {
            let least = if pids.len() < WatchProcesses::MOST_PIDS { "" } else { "at least " };
            format!("{name} ({least}{} processes)", number::count(pids.len() as u64))
        }
    }
}

pub(super) fn sockets(page: &mut Page, result: &WatchResult) {
    let Some(others) = &result.other_sockets else { return };
    if result.sockets.is_empty() && result.unread.is_empty() && others.messages() == 0 {
        return;
    }
    let ways = ways(result);
    page.head("Sockets with the most messages", result.plan.by_socket);
    if result.plan.by_socket {
        page.whole();
    }
    let name = |socket: &WatchSocket| {
        let peer = end_named(socket.peer.as_deref(), socket.local.as_deref());
        let process = socket.process.as_ref().map(|of| format!("{} ({})", of.name, of.pid));
        vec![peer, process.unwrap_or_default()]
    };
    let none = WatchSocket::default();
    let unread = result.unread.iter().take(MOST_UNREAD).map(|of| (waiting(of), &none));
    let rows = unread.chain(result.sockets.iter().map(|socket| (name(socket), socket)));
    page.table(table("<peer|<process", rows, others.clone(), &ways));
}

/// Such as `127.0.0.1:9961, 1,640 unread`: no message there has times.
fn waiting(WatchUnread { local, process, messages, stopped, .. }: &WatchUnread) -> Vec<String> {
    let local = end_named(None, local.as_deref());
    let stopped = if *stopped { ", stopped" } else { "" };
    vec![
        format!("{local}, {} unread", number::count(*messages)),
        format!("{} ({}{stopped})", process.name, process.pid),
    ]
}

fn ways(result: &WatchResult) -> Vec<Direction> {
    [Direction::Rx, Direction::Tx].into_iter().filter(|&way| result.plan.watches(way)).collect()
}

/// Each row is its names, as many as there are `heads`, and its figures.
fn table<'a>(
    heads: &str,
    mut rows: impl Iterator<Item = (Vec<String>, &'a WatchSocket)>,
    mut others: WatchSocket,
    ways: &[Direction],
) -> Table {
    let mut table = Table::of(heads);
    let blank = vec![String::new(); table.columns.len() - 1];
    for &way in ways {
        let name = if way == Direction::Rx { "received" } else { "sent" };
        table = table.figures([name, "mean", "p99"]).words((ways.len() == 1).then_some("largest stage"));
    }
    rows.by_ref().take(MOST_ROWS).for_each(|(names, socket)| table.row(row(names, socket, ways)));
    rows.for_each(|(_, socket)| others.add(socket));
    if others.messages() > 0 {
        table.row(row([vec!["all others".into()], blank].concat(), &others, ways));
    }
    table
}

fn row(mut cells: Vec<String>, socket: &WatchSocket, ways: &[Direction]) -> Vec<String> {
    for &direction in ways {
        let way = socket.way(direction);
        let total = &way.total;
        let time = |ns: f64| if total.n > 0 { number::mean(ns) } else { "-".into() };
        cells.extend([number::short_count(total.n), time(total.mean_ns), time(total.p99_ns as f64)]);
        cells.extend((ways.len() == 1).then(|| way.largest()));
    }
    cells
}
