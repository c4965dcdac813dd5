//! The screen: the answer so far, the last second of what was chosen with its stages, and the list to choose from.

use netfathom_model::path::Direction;
use netfathom_model::print;
use netfathom_model::record::{Holders, SocketWay, WatchSocket, WatchedSum};
use netfathom_results::draw::bar;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table};

use super::spark::spark;
use super::state::{MINUTE, Scope, State};
use crate::output::harmless;

mod list;

/// Below that there is the answer alone.
const LEAST: (u16, u16) = (60, 12);
/// From here on the list names the stage that takes most.
const WIDE: u16 = 110;
/// From here on there is a line for who had the CPUs.
const HIGH: u16 = 24;
/// On that line.
const MOST_HOLDERS: usize = 3;
/// Most stages a direction: TCP's received messages have eight, and few pass them all.
const MOST_STAGES: u16 = 7;
const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const HEAD: Style = Style::new().add_modifier(Modifier::BOLD);
const FROZEN: Style = Style::new().add_modifier(Modifier::REVERSED);
const KEYS: &str = "↑↓ select  Enter show it  Esc show all  p processes/sockets  f freeze  q quit";

pub fn draw(frame: &mut Frame<'_>, state: &State, colors: bool) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        frame.render_widget(Paragraph::new(harmless(&state.answer)), area);
        return;
    }
    let ways = ways(state);
    let shown = state.shown();
    let stages = ways.iter().map(|&way| passed(shown.way(way)).len() as u16).max().unwrap_or(0);
    let held = if area.height < HIGH { String::new() } else { held(state) };
    let heights = [
        Constraint::Length(2 + u16::from(!held.is_empty())),
        Constraint::Length(ways.len() as u16 + 2),
        Constraint::Length(stages.clamp(1, MOST_STAGES) + 2),
        Constraint::Fill(1),
        Constraint::Length(1),
    ];
    let [head, seconds, bars, list, keys] = Layout::vertical(heights).areas(area);
    let filled = if colors { Style::new().fg(Color::Cyan) } else { Style::new() };
    draw_head(frame, head, state);
    frame.render_widget(Paragraph::new(held), head.rows().nth(2).unwrap_or_default());
    draw_seconds(frame, seconds, state, &shown, filled);
    draw_stages(frame, bars, &ways, &shown, filled);
    list::draw(frame, list, state, &ways);
    frame.render_widget(Paragraph::new(KEYS).style(DIM), keys);
}

fn ways(state: &State) -> Vec<Direction> {
    [Direction::Rx, Direction::Tx].into_iter().filter(|way| state.directions.contains(way)).collect()
}

fn passed(way: &SocketWay) -> Vec<&WatchedSum> {
    way.stages.iter().filter(|sum| sum.sum_ns != 0).collect()
}

/// Rate, mean and p99.
fn figures(state: &State, way: &SocketWay) -> [String; 3] {
    let total = &way.total;
    let time = |ns: f64| if total.n > 0 { print::time(ns) } else { "-".into() };
    [print::rate(state.second.per_second(total.n)), time(total.mean_ns), time(total.p99_ns as f64)]
}

fn draw_head(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let mut spans = vec![Span::styled(harmless(&state.answer), HEAD)];
    if state.answer.is_empty() {
        spans = vec![Span::raw("waiting for the first second")];
    }
    frame.render_widget(Paragraph::new(Line::from(spans)), Rect { height: 1, ..area });
    let at = format!("after {}", print::time((state.second.at_ns / 1_000_000_000 * 1_000_000_000) as f64));
    let mut line = vec![Span::styled(at, DIM)];
    if state.is_frozen {
        line.push(Span::styled("  FROZEN: press f to resume", FROZEN));
    }
    if let Some(slow) = state.second.slow_so_far {
        line.push(Span::raw(format!("  slow messages: {}", print::count(slow))));
    }
    frame.render_widget(Paragraph::new(Line::from(line)), Rect { y: area.y + 1, height: 1, ..area });
}

/// Who had the CPUs that threads waited for, so far; empty if none waited.
fn held(state: &State) -> String {
    let waits = &state.second.waits_so_far;
    let part =
        |(by, part): (Holders<'_>, f64)| format!("{} {}", harmless(&by.to_string()), print::percent(part));
    let parts: Vec<String> = waits.parts().take(MOST_HOLDERS).map(part).collect();
    if parts.is_empty() {
        return String::new();
    }
    format!("waits for a CPU, {}: {}", print::time(waits.waited_ns as f64), parts.join(", "))
}

fn title(state: &State) -> String {
    match state.scope() {
        Scope::All => "all sockets".into(),
        Scope::Others => "sockets without a row of their own".into(),
        Scope::Process(_) | Scope::Socket(_) => {
            let shown = state.shown();
            let name = match (&shown.peer, &shown.local) {
                (Some(peer), Some(local)) => format!("{local} and {peer}"),
                (None, Some(local)) => local.clone(),
                _ => String::new(),
            };
            let process = process(&shown);
            let text =
                [name, process].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ");
            if text.is_empty() { "no message in the last second".into() } else { text }
        }
    }
}

fn process(of: &WatchSocket) -> String {
    let process = of.process.as_ref();
    process.map_or_else(String::new, |process| format!("{} ({})", harmless(&process.name), process.pid))
}

fn draw_seconds(frame: &mut Frame<'_>, area: Rect, state: &State, shown: &WatchSocket, filled: Style) {
    // Name and three numbers come first.
    let left = area.width.saturating_sub(10 + 3 * 10 + 4);
    let width = usize::from(left / 2).min(MINUTE);
    let nothing = Default::default();
    let points = state.history.get(&state.scope()).unwrap_or(&nothing);
    let row = |&way: &Direction| {
        let figures = figures(state, shown.way(way));
        let index = usize::from(way == Direction::Tx);
        let rates = points.iter().map(|point| point[index].per_second);
        let tails = points.iter().map(|point| point[index].p99_ns as f64);
        let cells = [Cell::from(format!("  {}", way.verb()))].into_iter();
        let cells = cells.chain(figures.into_iter().map(right));
        let sparks = [spark(rates, width), spark(tails, width)];
        Row::new(cells.chain(sparks.into_iter().map(|text| Cell::from(text).style(filled))))
    };
    let widths = [10, 10, 10, 10, width as u16 + 1, width as u16].map(Constraint::Length);
    let minute = format!("{:<w$}  {:<w$}", "rate, a minute", "p99, a minute", w = width);
    let heads = format!("{:<10} {:>10} {:>10} {:>10} {minute}", "1 second", "rate", "mean", "p99");
    let table = Table::new(ways(state).iter().map(row), widths).column_spacing(1);
    let line = |y, height| Rect { y: area.y + y, height, ..area };
    frame.render_widget(Paragraph::new(title(state)).style(HEAD), line(0, 1));
    frame.render_widget(Paragraph::new(heads).style(DIM), line(1, 1));
    frame.render_widget(table, line(2, area.height.saturating_sub(2)));
}

fn right(text: String) -> Cell<'static> {
    Cell::from(Line::from(text).right_aligned())
}

fn draw_stages(frame: &mut Frame<'_>, area: Rect, ways: &[Direction], shown: &WatchSocket, filled: Style) {
    let columns = Layout::horizontal(ways.iter().map(|_| Constraint::Fill(1))).spacing(2).split(area);
    for (&way, &column) in ways.iter().zip(columns.iter()) {
        let total = &shown.way(way).total;
        let mut stages = passed(shown.way(way));
        // Where there are more than fit, those that take least have no row.
        if stages.len() > usize::from(MOST_STAGES) {
            stages.sort_by_key(|sum| std::cmp::Reverse(sum.sum_ns));
            stages.truncate(MOST_STAGES.into());
            stages.sort_by_key(|sum| sum.stage as usize);
        }
        let share = |sum: &WatchedSum| sum.sum_ns as f64 / (total.sum_ns as f64).max(1.0);
        let most = stages.iter().map(|sum| share(sum)).fold(f64::MIN_POSITIVE, f64::max);
        let width = usize::from(column.width.saturating_sub(32)).min(40);
        let row = |sum: &&WatchedSum| {
            let mean = print::time(sum.sum_ns as f64 / total.n.max(1) as f64);
            let shown = bar(share(sum) / most, width);
            let cells = [
                Cell::from(format!("  {}", sum.stage.name())),
                right(mean),
                right(print::percent(share(sum))),
            ];
            Row::new(cells.into_iter().chain([Cell::from(shown).style(filled)]))
        };
        let head = format!("{:<12} {:>8} {:>8}", format!("{} stages", way.verb()), "mean", "share");
        let widths = [12, 8, 8, width as u16].map(Constraint::Length);
        let line = |y, height| Rect { y: column.y + y, height, ..column };
        frame.render_widget(Paragraph::new(head).style(DIM), line(1, 1));
        let table = Table::new(stages.iter().map(row), widths).column_spacing(1);
        frame.render_widget(table, line(2, column.height.saturating_sub(2)));
    }
}
