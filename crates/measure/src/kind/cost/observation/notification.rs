//! Marks by notification.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::process::Command;
use std::sync::Arc;

use netfathom_sys::child::ExecTime;
use netfathom_sys::notify::{Call, EXECS, Notifier, OPENS};
use parking_lot::Mutex;

use super::points::Points;
use super::{Reached, WatchError};

/// The observation of one start of a benchmark.
pub(super) struct Notified {
    notes: Arc<Mutex<Notes>>,
    _notifier: Notifier,
}

#[derive(Default)]
struct Notes {
    /// When the benchmark is put in place of our fork.
    exec: Option<ExecTime>,
    marks: Vec<Reached>,
    unread_paths: u64,
    counts: HashMap<u32, u64>,
}

pub(super) fn numbers(points: &Points) -> Result<Vec<u32>, WatchError> {
    let numbers: BTreeSet<u32> = match points {
        Points::Ends => BTreeSet::new(),
        Points::Opens(_) => OPENS.iter().map(|&(number, _)| number).collect(),
        Points::Calls(calls) => calls.iter().map(|call| call.number).collect(),
    };
    if numbers.iter().any(|number| EXECS.contains(number)) {
        let why = "by notification, calls of execve look like the attempts to start the benchmark";
        return Err(WatchError::Points(why.into()));
    }
    Ok(numbers.into_iter().collect())
}

impl Notified {
    /// Has the benchmark that this command starts observed.
    pub fn of(command: &mut Command, points: &Points) -> io::Result<Self> {
        let numbers = numbers(points).map_err(io::Error::other)?;
        let notes = Arc::<Mutex<Notes>>::default();
        let (theirs, points) = (Arc::clone(&notes), points.clone());
        let on_call = move |call: &Call<'_>| theirs.lock().note(call, &points);
        let notifier = Notifier::of(command, &numbers, on_call)?;
        Ok(Self { notes, _notifier: notifier })
    }

    /// When the benchmark is put in place; to be known before it starts.
    pub fn starts_at(&self, time: ExecTime) {
        self.notes.lock().exec = Some(time);
    }

    /// The marks so far, and how many paths could not be read. What the benchmark left behind may go on.
    pub fn take(&self) -> (Vec<Reached>, u64) {
        let mut notes = self.notes.lock();
        (std::mem::take(&mut notes.marks), notes.unread_paths)
    }
}

impl Notes {
    fn note(&mut self, call: &Call<'_>, points: &Points) {
        // What our own fork does before it becomes the benchmark.
        let since = self.exec.as_ref().and_then(ExecTime::at_ns);
        if since.is_none_or(|at_ns| call.at_ns <= at_ns) {
            return;
        }
        let number = call.number();
        let reached = match points {
            Points::Ends => return,
            Points::Opens(_) => {
                let argument =
                    OPENS.iter().find(|(of, _)| *of == number).map_or(0, |&(_, argument)| argument);
                match call.path(argument) {
                    Ok(path) => points.opened(&path, false),
                    Err(_) => return self.unread_paths += 1,
                }
            }
            Points::Calls(_) => {
                let count = self.counts.entry(number).or_default();
                *count += 1;
                points.called(number, *count)
            }
        };
        self.marks.extend(reached.into_iter().map(|index| Reached { index, at_ns: call.at_ns }));
    }
}
