//! Which orders an agent takes: those of one controller at a time, each once, as long as that controller is there.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::limits::{CLOCK_WAS_SET, Sends};
use crate::wire::{self, Order};

/// A controller that was not heard of for so long is gone. It is heard of six times within it.
pub const LEASE: Duration = Duration::from_millis(800);
/// Orders that are void later than this are from the future.
const MOST_AHEAD_NS: u64 = 60_000_000_000;
/// Sessions that are over and remembered; orders of an older one have expired.
const MOST_OVER: usize = 256;
/// Tasks at the same time: of a load, one for each sender.
pub const MOST_TASKS: usize = 1024;

pub struct Desk {
    to: (String, String),
    session: Option<Session>,
    over: VecDeque<String>,
    /// Tasks by session and number, until they have ended: of a session that is over, some wind down.
    running: BTreeMap<(String, u64), Running>,
}

struct Session {
    id: String,
    last_number: u64,
    heard: Instant,
}

struct Running {
    stop: Arc<AtomicBool>,
    until: Instant,
    sends: Sends,
}

impl Desk {
    pub fn new(name: &str, incarnation: &str) -> Self {
        Self {
            to: (name.into(), incarnation.into()),
            session: None,
            over: VecDeque::new(),
            running: BTreeMap::new(),
        }
    }

    /// Whether an order is to be obeyed; why not.
    pub fn admit(&mut self, order: &Order, now_utc_ns: u64, now: Instant) -> Result<(), String> {
        if order.version != wire::VERSION {
            let (theirs, own) = (order.version, wire::VERSION);
            return Err(format!(
                "it speaks version {own} and the controller {theirs}: install the same netfathom"
            ));
        }
        if order.to != self.to {
            return Err("the order is for another agent, or for an earlier one of this name".into());
        }
        if order.expires_utc_ns < now_utc_ns {
            return Err("the order has expired: it was sent long ago, or a clock was set".into());
        }
        if order.expires_utc_ns - now_utc_ns > MOST_AHEAD_NS {
            return Err(format!("the order is from the future: {CLOCK_WAS_SET}"));
        }
        if self.running.len() >= MOST_TASKS {
            return Err(format!("it does {MOST_TASKS} things already"));
        }
        if order.session.len() > 64 || self.over.contains(&order.session) {
            return Err("the order is of a session that is over".into());
        }
        match &mut self.session {
            Some(session) if session.id == order.session => {
                if order.number <= session.last_number {
                    return Err(format!("order {} of this session was given before", order.number));
                }
                (session.last_number, session.heard) = (order.number, now);
            }
            // The next round of the same controller ends what is left of the one before.
            Some(session) if session.is_heard(now) && base(&session.id) != base(&order.session) => {
                return Err(
                    "it takes part in the measurement of another controller: try again after that".into()
                );
            }
            _ => self.begin(order, now),
        }
        Ok(())
    }

    fn begin(&mut self, order: &Order, now: Instant) {
        self.end();
        let (id, last_number) = (order.session.clone(), order.number);
        self.session = Some(Session { id, last_number, heard: now });
    }

    /// Ends the session, and what runs for it; how many tasks that stops.
    pub fn end(&mut self) -> usize {
        let Some(session) = self.session.take() else { return 0 };
        let stopped = self.running.iter().filter(|((id, _), _)| *id == session.id);
        let stopped = stopped.map(|(_, running)| running.stop.store(true, Relaxed)).count();
        self.over.push_back(session.id);
        if self.over.len() > MOST_OVER {
            self.over.pop_front();
        }
        stopped
    }

    /// A controller says that it is there, or that it has what it wanted.
    pub fn beat(&mut self, session: &str, over: bool, now: Instant) {
        match self.session.as_mut().filter(|own| base(&own.id) == session) {
            Some(_) if over => drop(self.end()),
            Some(own) => own.heard = now,
            None => {}
        }
    }

    pub fn runs(&mut self, order: &Order, stop: Arc<AtomicBool>, until: Instant, sends: Sends) {
        self.running.insert((order.session.clone(), order.number), Running { stop, until, sends });
    }

    /// What its tasks send at this time, or may still send until they have ended. Clocks that were stopped answer none.
    pub fn sends(&self) -> Sends {
        self.running.values().fold(Sends::default(), |sum, running| {
            let clocks = if running.stop.load(Relaxed) { 0 } else { running.sends.clocks };
            sum + Sends { clocks, ..running.sends }
        })
    }

    pub fn ended(&mut self, session: &str, number: u64) {
        self.running.remove(&(session.to_owned(), number));
    }

    /// Stops what has had its time, and all where the controller is gone; how many tasks that abandoned.
    pub fn look(&mut self, now: Instant) -> usize {
        let Some(session) = &self.session else { return 0 };
        if session.is_heard(now) {
            let over = self.running.values().filter(|running| running.until < now);
            over.for_each(|running| running.stop.store(true, Relaxed));
            return 0;
        }
        self.end()
    }

    pub fn is_busy(&self, now: Instant) -> bool {
        self.session.as_ref().is_some_and(|session| session.is_heard(now))
    }
}

/// The part of a session's name that all rounds of a controller have.
fn base(session: &str) -> &str {
    session.split_once('.').map_or(session, |(base, _)| base)
}

impl Session {
    fn is_heard(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.heard) < LEASE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Task;

    const NOW: u64 = 1_000_000_000_000;

    fn order(session: &str, number: u64) -> Order {
        Order {
            version: wire::VERSION,
            to: ("a".into(), "1".into()),
            session: session.into(),
            number,
            expires_utc_ns: NOW + 5_000_000_000,
            task: Task::Rest,
        }
    }

    fn refusal(desk: &mut Desk, order: &Order, now: Instant) -> String {
        desk.admit(order, NOW, now).expect_err("a refusal")
    }

    #[test]
    fn an_order_is_obeyed_once_and_by_whom_it_is_for() {
        let (mut desk, now) = (Desk::new("a", "1"), Instant::now());
        assert!(desk.admit(&order("s", 1), NOW, now).is_ok());
        assert!(refusal(&mut desk, &order("s", 1), now).contains("given before"));
        let other = Order { to: ("a".into(), "0".into()), ..order("s", 2) };
        assert!(refusal(&mut desk, &other, now).contains("another agent"));
        let late = Order { expires_utc_ns: NOW - 1, ..order("s", 2) };
        assert!(refusal(&mut desk, &late, now).contains("expired"));
        let early = Order { expires_utc_ns: NOW + 2 * MOST_AHEAD_NS, ..order("s", 2) };
        assert!(refusal(&mut desk, &early, now).contains("from the future: a clock was set"));
        let newer = Order { version: 9, ..order("s", 2) };
        assert!(refusal(&mut desk, &newer, now).contains("version"));
    }

    #[test]
    fn one_controller_at_a_time_and_a_session_that_is_over_stays_so() {
        let (mut desk, now) = (Desk::new("a", "1"), Instant::now());
        assert!(desk.admit(&order("s", 1), NOW, now).is_ok() && desk.is_busy(now));
        assert!(refusal(&mut desk, &order("t", 1), now).contains("another controller"));
        let stop = Arc::new(AtomicBool::new(false));
        desk.runs(&order("s", 1), Arc::clone(&stop), now + Duration::from_secs(60), Sends::default());
        desk.beat("s", false, now + LEASE / 2);
        assert_eq!((desk.look(now + LEASE), stop.load(Relaxed)), (0, false));
        // The beat of another session does not keep this one.
        desk.beat("t", false, now + LEASE);
        assert_eq!((desk.look(now + 2 * LEASE), stop.load(Relaxed)), (1, true));
        assert!(refusal(&mut desk, &order("s", 2), now).contains("over"));
        assert!(desk.admit(&order("t.1", 1), NOW, now + 2 * LEASE).is_ok());
        desk.runs(&order("t.1", 1), Arc::clone(&stop), now + Duration::from_secs(60), Sends::default());
        stop.store(false, Relaxed);
        // The next round of the same controller ends what the last one left, and comes at once.
        assert!(desk.admit(&order("t.2", 2), NOW, now + 2 * LEASE).is_ok() && stop.load(Relaxed));
        assert!(refusal(&mut desk, &order("t.1", 3), now + 2 * LEASE).contains("over"));
    }

    #[test]
    fn what_it_sends_is_that_of_all_its_tasks() {
        let now = Instant::now();
        let mut desk = Desk::new("a", "1");
        desk.admit(&order("s", 1), NOW, now).unwrap();
        let sends = |rate_per_s, transfers| Sends { rate_per_s, transfers, ..Sends::default() };
        for (number, sends) in [(1, sends(100.0, 0)), (2, sends(20.0, 0)), (3, sends(0.0, 1))] {
            desk.runs(&order("s", number), Arc::default(), now, sends);
        }
        assert_eq!(desk.sends(), sends(120.0, 1));
        desk.ended("s", 1);
        assert_eq!(desk.sends(), sends(20.0, 1));
        // Those of a session that is over count until they have ended, and a task of the same number is another one.
        assert_eq!(desk.end(), 2);
        desk.admit(&order("t", 2), NOW, now).unwrap();
        desk.runs(&order("t", 2), Arc::default(), now, sends(5.0, 0));
        assert_eq!(desk.sends(), sends(25.0, 1));
        desk.ended("s", 2);
        desk.ended("s", 3);
        assert_eq!(desk.sends(), sends(5.0, 0));
    }

    #[test]
    fn a_task_has_its_time() {
        let (mut desk, now) = (Desk::new("a", "1"), Instant::now());
        desk.admit(&order("s", 1), NOW, now).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        desk.runs(&order("s", 1), Arc::clone(&stop), now, Sends::default());
        desk.look(now + LEASE / 2);
        assert!(stop.load(Relaxed));
    }
}
