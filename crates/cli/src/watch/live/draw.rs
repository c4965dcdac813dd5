//! The screen: the answer so far, the last second of what was chosen with its stages, and the list to choose from.

use netfathom_model::path::Direction;
use netfathom_model::print;
use netfathom_model::record::{Holders, SocketWay, WatchSocket, WatchTimes, WatchedSum};
use netfathom_results::draw::bar;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table, Wrap};

use super::spark::spark;
use super::state::{MINUTE, Scope, State};
use crate::output::harmless;
use crate::watch::second::Second;

mod list;

/// What the answer and the last second of both directions need.
const LEAST: (u16, u16) = (37, 7);
/// From here on the list names the stage that takes most.
const WIDE: u16 = 150;
/// From here on there is room for who had the CPUs.
const HIGH: u16 = 24;
const MOST_HOLDERS: usize = 3;
/// Most stages a direction: TCP's received messages have eight, and few pass them all.
const MOST_STAGES: u16 = 7;
/// Columns of a direction's stages, without the bars.
const STAGES: u16 = 32;
/// The heading of a curve.
const CURVE: usize = "rate, a minute".len();
/// A blank line, the heading, and a row.
const LEAST_LIST: u16 = 3;
const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const HEAD: Style = Style::new().add_modifier(Modifier::BOLD);
const FROZEN: Style = Style::new().add_modifier(Modifier::REVERSED);
const KEYS: &str = "q quit  ↑↓ select  Enter show it  Esc show all  p processes/sockets  f freeze";

pub fn draw(frame: &mut Frame<'_>, state: &State, colors: bool) {
    let Rect { width, height, .. } = frame.area();
    let [area, keys] = Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(frame.area());
    draw_line(frame, keys, Line::styled(KEYS, DIM));
    if width < LEAST.0 || height < LEAST.1 {
        let text = format!("terminal of at least {}x{}", LEAST.0, LEAST.1);
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
        return;
    }
    let held = if height < HIGH { Vec::new() } else { held(state, width.into()) };
    let (ways, shown) = (ways(state), state.shown());
    let (head, seconds) = (2 + held.len() as u16, ways.len() as u16 + 2);
    let beside = &ways[..usize::from((width + 2) / (STAGES + 2)).min(ways.len())];
    let stages = stages_height(beside, &shown, area.height.saturating_sub(head + seconds));
    let outside = outside(state).filter(|_| stages > 0);
    let room = area.height.saturating_sub(head + seconds + stages + LEAST_LIST);
    let heights = [head, seconds, stages, room.min(outside.is_some().into())].map(Constraint::Length);
    let heights = heights.into_iter().chain([Constraint::Fill(1)]);
    let [head, seconds, stages, below, list] = Layout::vertical(heights).areas(area);
    let filled = if colors { Style::new().fg(Color::Cyan) } else { Style::new() };
    draw_head(frame, head, state);
    head.rows().skip(2).zip(held).for_each(|(row, text)| draw_line(frame, row, text));
    draw_seconds(frame, seconds, state, &shown, filled);
    if !stages.is_empty() {
        draw_stages(frame, stages, beside, &shown, filled);
    }
    if let Some(text) = outside.filter(|_| !below.is_empty()) {
        draw_line(frame, below, text);
    }
    if list.height >= LEAST_LIST {
        list::draw(frame, list, state, &ways);
    }
}

/// Blank line and heading included; 0 where stages and list have no room for a row each.
fn stages_height(ways: &[Direction], shown: &WatchSocket, room: u16) -> u16 {
    let most = ways.iter().map(|&way| passed(shown.way(way)).len() as u16).max().unwrap_or(0);
    match room.saturating_sub(LEAST_LIST + 2) {
        0 => 0,
        rows => most.clamp(1, MOST_STAGES).min(rows) + 2,
    }
}

fn draw_line<'a>(frame: &mut Frame<'_>, area: Rect, line: impl Into<Line<'a>>) {
    frame.render_widget(fitted(line, area.width), area);
}

/// Ends with an ellipsis if it is cut.
fn fitted<'a>(line: impl Into<Line<'a>>, room: u16) -> Line<'a> {
    let (mut line, room): (Line<'a>, _) = (line.into(), usize::from(room));
    if line.width() <= room {
        return line;
    }
    while line.width() >= room
        && let Some(last) = line.spans.last_mut()
    {
        if last.content.to_mut().pop().is_none() {
            line.spans.pop();
        }
    }
    line.push_span("…");
    line
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
    draw_line(frame, Rect { height: 1, ..area }, spans);
    let at = format!("after {}", print::time((state.second.at_ns / 1_000_000_000 * 1_000_000_000) as f64));
    let mut line = vec![Span::styled(at, DIM)];
    if state.is_frozen() {
        line.push(Span::styled("  FROZEN: press f to resume", FROZEN));
    }
    if let Some(slow) = state.second.slow_so_far {
        line.push(Span::raw(format!("  slow messages: {}", print::count(slow))));
    }
    if state.second.slow_answers_so_far > 0 {
        line.push(Span::raw(format!("  slow answers: {}", print::count(state.second.slow_answers_so_far))));
    }
    draw_line(frame, Rect { y: area.y + 1, height: 1, ..area }, line);
}

/// Who had the CPUs that threads waited for, so far; empty if none waited.
fn held(state: &State, width: usize) -> Vec<String> {
    let waits = &state.second.waits_so_far;
    let part =
        |(by, part): (Holders<'_>, f64)| format!("{} {}", harmless(&by.to_string()), print::percent(part));
    let parts: Vec<String> = waits.parts().take(MOST_HOLDERS).map(part).collect();
    if parts.is_empty() {
        return Vec::new();
    }
    let text = format!("waits for a CPU, {}: {}", print::time(waits.waited_ns as f64), parts.join(", "));
    let options = textwrap::Options::new(width).subsequent_indent("  ");
    textwrap::wrap(&text, options).into_iter().map(Into::into).collect()
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
    let left = area.width.saturating_sub(10 + 3 * 10 + 6);
    let width = usize::from(left / 2).min(MINUTE);
    let (figure, columns): (u16, _) = if width < CURVE { (8, 4) } else { (10, 6) };
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
        Row::new(cells.chain(sparks.map(|text| Cell::from(text).style(filled))).take(columns))
    };
    let widths = [10, figure, figure, figure, width as u16 + 1, width as u16].map(Constraint::Length);
    let widths = widths.into_iter().take(columns);
    let curves = format!(" {:<width$}  p99, a minute", "rate, a minute");
    let curves = if width < CURVE { "" } else { curves.as_str() };
    let f = usize::from(figure);
    let heads = format!("{:<10} {:>f$} {:>f$} {:>f$}{curves}", "1 second", "rate", "mean", "p99");
    let table = Table::new(ways(state).iter().map(row), widths).column_spacing(1);
    let line = |y, height| Rect { y: area.y + y, height, ..area };
    draw_line(frame, line(0, 1), Line::styled(title(state), HEAD));
    draw_line(frame, line(1, 1), Line::styled(heads, DIM));
    frame.render_widget(table, line(2, area.height.saturating_sub(2)));
}

/// What is no stage, and known of all sockets together alone. Without such times in the last second its line is empty: the list
/// below stays where it is.
fn outside(state: &State) -> Option<String> {
    let Second { application, answer, .. } = &state.second;
    let text = |name: &str, times: &Option<WatchTimes>| {
        let times = times.as_ref().filter(|times| times.n > 0)?;
        let [mean, p99] = [times.mean_ns, times.p99_ns as f64].map(print::time);
        Some(format!("  {name} {mean} (p99 {p99})"))
    };
    let is_known = state.scope() == Scope::All && (application.is_some() || answer.is_some());
    is_known
        .then(|| [text("application", application), text("answer", answer)].into_iter().flatten().collect())
}

fn right(text: String) -> Cell<'static> {
    Cell::from(Line::from(text).right_aligned())
}

/// The part of a stage that few messages pass may be less than the clock's nanosecond.
fn part(ns: f64) -> String {
    if ns.abs() < 1.0 { "<1 ns".into() } else { print::time(ns) }
}

fn draw_stages(frame: &mut Frame<'_>, area: Rect, ways: &[Direction], shown: &WatchSocket, filled: Style) {
    let columns = Layout::horizontal(ways.iter().map(|_| Constraint::Fill(1))).spacing(2).split(area);
    for (&way, &column) in ways.iter().zip(columns.iter()) {
        let total = &shown.way(way).total;
        let mut stages = passed(shown.way(way));
        // Where there are more than fit, those that take least have no row.
        let most = usize::from(column.height.saturating_sub(2));
        if stages.len() > most {
            stages.sort_by_key(|sum| std::cmp::Reverse(sum.sum_ns));
            stages.truncate(most);
            stages.sort_by_key(|sum| sum.stage as usize);
        }
        let share = |sum: &WatchedSum| sum.sum_ns as f64 / (total.sum_ns as f64).max(1.0);
        let largest = stages.iter().map(|sum| share(sum)).fold(f64::MIN_POSITIVE, f64::max);
        let width = usize::from(column.width.saturating_sub(STAGES)).min(40);
        let row = |sum: &&WatchedSum| {
            let mean = part(sum.sum_ns as f64 / total.n.max(1) as f64);
            let shown = bar(share(sum) / largest, width);
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
        draw_line(frame, line(1, 1), Line::styled(head, DIM));
        let table = Table::new(stages.iter().map(row), widths).column_spacing(1);
        frame.render_widget(table, line(2, column.height.saturating_sub(2)));
    }
}
