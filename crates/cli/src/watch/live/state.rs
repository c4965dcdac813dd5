//! What is shown, and what keys do to it. Nothing here knows a terminal.

use std::collections::{BTreeMap, VecDeque};

use netfathom_model::path::Direction;
use netfathom_model::plan::WatchTarget;
use netfathom_model::record::WatchSocket;
use ratatui::crossterm::event::KeyCode;

use super::keys::INTERRUPT;
use crate::watch::second::{Second, pid};

/// Seconds of the sparklines.
pub const MINUTE: usize = 60;

/// Rows are sorted by the messages of this many seconds.
const STEADY: usize = 10;

/// What a row, or the upper half of the screen, is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    All,
    Process(u32),
    Socket(u64),
    Others,
}

/// One second of one scope and one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Point {
    pub per_second: f64,
    pub p99_ns: i64,
}

/// Of both directions.
pub type Points = VecDeque<[Point; 2]>;

#[derive(Clone, Debug, Default)]
pub struct State {
    pub directions: Vec<Direction>,
    /// The answer so far.
    pub answer: String,
    /// The last second, or the one that is frozen.
    pub second: Second,
    pub history: BTreeMap<Scope, Points>,
    pub scope: Option<Scope>,
    pub by_process: bool,
    /// The row that is marked.
    pub selected: Option<Scope>,
    /// What `f` shows again, while this one is frozen.
    latest: Option<Box<State>>,
}

/// A row of the list.
pub struct Row<'a> {
    pub scope: Scope,
    pub of: std::borrow::Cow<'a, WatchSocket>,
}

impl State {
    pub fn new(directions: &[Direction], target: &WatchTarget) -> Self {
        let by_process = *target == WatchTarget::All;
        Self { directions: directions.to_vec(), by_process, ..Self::default() }
    }

    pub fn add(&mut self, second: Second, answer: String) {
        if let Some(latest) = &mut self.latest {
            return latest.add(second, answer);
        }
        self.remember(&second);
        (self.second, self.answer) = (second, answer);
    }

    pub fn is_frozen(&self) -> bool {
        self.latest.is_some()
    }

    fn remember(&mut self, second: &Second) {
        let mut seen: BTreeMap<Scope, [Point; 2]> = BTreeMap::new();
        let point = |of: &WatchSocket| {
            [&of.receive, &of.send]
                .map(|way| Point { per_second: second.per_second(way.total.n), p99_ns: way.total.p99_ns })
        };
        seen.insert(Scope::All, point(&second.all));
        seen.insert(Scope::Others, point(&second.others));
        seen.extend(second.sockets.iter().map(|socket| (Scope::Socket(socket.id), point(socket))));
        seen.extend(second.processes().iter().map(|process| (Scope::Process(pid(process)), point(process))));
        for (scope, points) in &mut self.history {
            points.push_back(seen.remove(scope).unwrap_or_default());
        }
        self.history.extend(seen.into_iter().map(|(scope, point)| (scope, VecDeque::from([point]))));
        self.history.retain(|_, points| {
            points.drain(..points.len().saturating_sub(MINUTE));
            points.iter().any(|ways| ways.iter().any(|point| point.per_second > 0.0))
        });
    }

    pub fn scope(&self) -> Scope {
        self.scope.unwrap_or(Scope::All)
    }

    /// What the upper half shows; nothing of a socket that had no message.
    pub fn shown(&self) -> WatchSocket {
        match self.scope() {
            Scope::All => self.second.all.clone(),
            Scope::Others => self.second.others.clone(),
            Scope::Socket(id) => {
                self.second.sockets.iter().find(|socket| socket.id == id).cloned().unwrap_or_default()
            }
            Scope::Process(id) => {
                self.second.processes().into_iter().find(|process| pid(process) == id).unwrap_or_default()
            }
        }
    }

    /// The list: sockets or processes, those with the most messages first, and the others together.
    pub fn rows(&self) -> Vec<Row<'_>> {
        use std::borrow::Cow;
        let second = &self.second;
        let socket =
            |socket| Row { scope: Scope::Socket(WatchSocket::clone(socket).id), of: Cow::Borrowed(socket) };
        let mut rows: Vec<Row<'_>> = match self.scope() {
            Scope::Process(id) => second.sockets.iter().filter(|s| pid(s) == id).map(socket).collect(),
            _ if self.by_process => {
                let row = |process: WatchSocket| Row {
                    scope: Scope::Process(pid(&process)),
                    of: Cow::Owned(process),
                };
                second.processes().into_iter().map(row).collect()
            }
            _ => second.sockets.iter().map(socket).collect(),
        };
        rows.sort_by(|a, b| self.lately(b.scope).total_cmp(&self.lately(a.scope)));
        if second.others.messages() > 0 && !matches!(self.scope(), Scope::Process(_)) {
            rows.push(Row { scope: Scope::Others, of: Cow::Borrowed(&second.others) });
        }
        rows
    }

    /// Messages of the last seconds: by those of one alone, rows would change places all the time.
    fn lately(&self, scope: Scope) -> f64 {
        let points = self.history.get(&scope).into_iter().flat_map(|points| points.iter().rev().take(STEADY));
        points.flatten().map(|point| point.per_second).sum()
    }

    /// False if the key ends the run.
    pub fn key(&mut self, key: KeyCode) -> bool {
        match key {
            INTERRUPT | KeyCode::Char('q') => return false,
            KeyCode::Char('f' | ' ') => self.freeze(),
            KeyCode::Char('p') => {
                (self.by_process, self.scope, self.selected) = (!self.by_process, None, None);
            }
            KeyCode::Down | KeyCode::Char('j') => self.select(1),
            KeyCode::Up | KeyCode::Char('k') => self.select(-1),
            KeyCode::Enter | KeyCode::Right => self.scope = self.selected.or(self.scope),
            KeyCode::Esc | KeyCode::Left | KeyCode::Backspace => self.scope = None,
            _ => {}
        }
        true
    }

    fn freeze(&mut self) {
        match self.latest.take().map(|latest| *latest) {
            Some(latest) => {
                (self.answer, self.second, self.history) = (latest.answer, latest.second, latest.history);
            }
            None => self.latest = Some(Box::new(self.clone())),
        }
    }

    fn select(&mut self, step: isize) {
        let rows: Vec<Scope> = self.rows().iter().map(|row| row.scope).collect();
        let at = self.selected.and_then(|selected| rows.iter().position(|&scope| scope == selected));
        let last = rows.len().saturating_sub(1);
        let next = at.map_or(0, |at| at.saturating_add_signed(step).min(last));
        self.selected = rows.get(next).copied();
    }
}
