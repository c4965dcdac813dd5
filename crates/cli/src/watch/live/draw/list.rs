//! The list of sockets or processes to choose from.

use netfathom_model::path::Direction;
use netfathom_model::record::{WatchSocket, end_named};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::widgets::{Cell, Row, Table};

use super::{DIM, WIDE, figures, fitted, process, right};
use crate::watch::live::state::{self, Scope, State};

/// From here on one direction leaves room for more than figures.
const ALONE: u16 = 80;
/// Columns for names: a smaller terminal has fewer figures.
const NAME: u16 = 20;

pub fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, ways: &[Direction]) {
    let rows = state.rows();
    let room = usize::from(area.height.saturating_sub(2));
    let marked = state.selected.and_then(|selected| rows.iter().position(|row| row.scope == selected));
    // The marked row stays in sight.
    let first = marked.map_or(0, |at| (at + 1).saturating_sub(room));
    let figure = if area.width >= WIDE { 10 } else { 8 };
    let beside = area.width.saturating_sub(NAME) / ((figure + 1) * ways.len().max(1) as u16);
    let columns = Columns {
        of_processes: state.by_process && !matches!(state.scope(), Scope::Process(_)),
        have_ports: have_ports(&rows),
        names_more: area.width >= if ways.len() == 1 { ALONE } else { WIDE },
        figure,
        figures: beside.clamp(1, 3).into(),
    };
    let parts = Layout::horizontal(columns.widths(ways)).spacing(1).split(area);
    let widths = [parts[0].width, parts[1].width];
    let row = |row: &state::Row<'_>| {
        let mut cells = columns.names(row, widths);
        for &way in ways {
            cells.extend(figures(state, row.of.way(way)).into_iter().take(columns.figures).map(right));
            cells.extend(columns.names_more.then(|| Cell::from(format!(" {}", row.of.way(way).largest()))));
        }
        let marks = if state.selected == Some(row.scope) { Modifier::REVERSED } else { Modifier::empty() };
        Row::new(cells).style(Style::new().add_modifier(marks))
    };
    let table = Table::new(rows.iter().skip(first).take(room).map(row), columns.widths(ways))
        .header(Row::new(columns.heads(ways, rows.len(), widths[0])).style(DIM))
        .column_spacing(1);
    frame.render_widget(table, Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area });
}

/// Those of the list.
struct Columns {
    of_processes: bool,
    /// The local port of a socket.
    have_ports: bool,
    /// The process of a socket, and the stage that takes most.
    names_more: bool,
    /// The width of a figure, and how many a direction has.
    figure: u16,
    figures: usize,
}

impl Columns {
    fn names(&self, row: &state::Row<'_>, [first, second]: [u16; 2]) -> Vec<Cell<'static>> {
        let name = match row.scope {
            Scope::Others => "all others".into(),
            _ if self.of_processes => process(&row.of),
            _ => self.address(&row.of, usize::from(first).saturating_sub(2)),
        };
        let more = self.names_process().then(|| Cell::from(fitted(process(&row.of), second)));
        [Cell::from(fitted(format!("  {name}"), first))].into_iter().chain(more).collect()
    }

    fn address(&self, of: &WatchSocket, room: usize) -> String {
        let port = local_port(of).filter(|_| self.have_ports && of.peer.is_some());
        let port = port.map_or_else(String::new, |port| format!("{port} "));
        let end = end(&address(of), room.saturating_sub(port.len()));
        port + &end
    }

    fn names_process(&self) -> bool {
        self.names_more && !self.of_processes
    }

    fn heads(&self, ways: &[Direction], rows: usize, width: u16) -> Vec<Cell<'static>> {
        let name = match self {
            Self { of_processes: true, .. } => "processes",
            Self { have_ports: true, .. } => "local port, peer",
            _ => "peers",
        };
        let process = self.names_process().then(|| Cell::from("process"));
        let mut heads: Vec<Cell<'_>> =
            [Cell::from(fitted(format!("{name}: {rows}"), width))].into_iter().chain(process).collect();
        for &way in ways {
            let figures = [way.verb(), "mean", "p99"].into_iter().take(self.figures);
            heads.extend(figures.map(|text| right(text.into())));
            heads.extend(self.names_more.then(|| Cell::from(" most of it")));
        }
        heads
    }

    fn widths(&self, ways: &[Direction]) -> Vec<Constraint> {
        let process = self.names_process().then_some(Constraint::Fill(2));
        let mut widths: Vec<Constraint> = [Constraint::Fill(3)].into_iter().chain(process).collect();
        for _ in ways {
            widths.extend([Constraint::Length(self.figure); 3].into_iter().take(self.figures));
            widths.extend(self.names_more.then_some(Constraint::Length(18)));
        }
        widths
    }
}

/// Whether the sockets have several, as those of clients do: then many may have the same peer.
fn have_ports(rows: &[state::Row<'_>]) -> bool {
    let mut ports = rows.iter().filter_map(|row| local_port(&row.of));
    let first = ports.next();
    ports.any(|port| Some(port) != first)
}

fn local_port(of: &WatchSocket) -> Option<&str> {
    of.local.as_ref()?.rsplit_once(':').map(|(_, port)| port)
}

/// What fits: the port, which is last, stays in sight.
fn end(text: &str, room: usize) -> String {
    match text.chars().count().saturating_sub(room) {
        0 => text.into(),
        beyond => format!("…{}", text.chars().skip(beyond + 1).collect::<String>()),
    }
}

fn address(of: &WatchSocket) -> String {
    end_named(of.peer.as_deref(), of.local.as_deref())
}
