//! Marks that a benchmark makes itself. The ring that they come through is emptied while it runs: it holds 65,536.

use std::collections::HashMap;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use netfathom_mark::listen::{ListenError, Listener, Mark};
use netfathom_sys::clock::monotonic_ns;

use crate::kind::cost::error::CostError;
use crate::kind::cost::sequence::Reached;

const DRAIN: Duration = Duration::from_millis(20);
/// If this many came at once, it is emptied again without a pause.
const MANY: usize = 8192;
/// Marks of a run that are kept to learn from.
const MOST_LEARNED: u64 = 100_000;

pub struct Emitted {
    listener: Listener,
    lost_before: u64,
    damaged_before: u64,
    began_ns: u64,
}

pub enum Kept {
    ToLearn,
    Of(HashMap<String, u64>),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Came {
    /// The marks that are kept, in order of time.
    pub marks: Vec<Reached>,
    /// Marks that came and might have been kept, had they not been too many.
    pub beyond: u64,
    /// Marks that were made and did not come.
    pub lost: u64,
    /// How often its ring held what no mark leaves there.
    pub damaged: u64,
}

impl Emitted {
    /// For a benchmark that is started.
    pub fn create() -> Result<Self, ListenError> {
        Ok(Self { listener: Listener::create()?, lost_before: 0, damaged_before: 0, began_ns: 0 })
    }

    /// The next run is that of this command; what is left of the run before is forgotten.
    pub fn attach(&mut self, command: &mut Command) {
        self.listener.attach(command);
        self.listener.drain_rest(&mut Vec::new());
        (self.lost_before, self.damaged_before) = (self.listener.lost(), self.listener.damaged());
        self.began_ns = monotonic_ns();
    }

    /// Takes marks until `wait` returns. A thread of their own takes them, so that the wait is over when it is over.
    pub fn during<T>(&mut self, kept: Kept, wait: impl FnOnce() -> T) -> Result<(T, Came), CostError> {
        let failed = |why: String| CostError::Benchmark(format!("cannot take the benchmark's marks: {why}"));
        let over = AtomicBool::new(false);
        let mut came = Came::default();
        let (listener, began_ns) = (&mut self.listener, self.began_ns);
        let (waited, taken) = thread::scope(|scope| {
            let take = || came.take(kept, began_ns, listener, &over);
            let thread = thread::Builder::new().spawn_scoped(scope, take)?;
            let waited = wait();
            over.store(true, Relaxed);
            thread.thread().unpark();
            Ok((waited, thread.join()))
        })
        .map_err(|e: std::io::Error| failed(e.to_string()))?;
        taken.map_err(|_| failed("its thread died".into()))?;
        came.marks.sort_by_key(|mark| mark.at_ns);
        came.lost = self.listener.lost() - self.lost_before;
        came.damaged += self.listener.damaged() - self.damaged_before;
        Ok((waited, came))
    }
}

impl Came {
    fn take(&mut self, mut kept: Kept, began_ns: u64, listener: &mut Listener, over: &AtomicBool) {
        let mut marks = Vec::new();
        loop {
            let last = over.load(Relaxed);
            let count = if last { listener.drain_rest(&mut marks) } else { listener.drain(&mut marks) };
            let then = began_ns..=monotonic_ns();
            for mark in marks.drain(..) {
                if then.contains(&mark.at_ns) { self.keep(mark, &mut kept) } else { self.damaged += 1 }
            }
            if last {
                return;
            }
            if count < MANY {
                thread::park_timeout(DRAIN);
            }
        }
    }

    fn keep(&mut self, mark: Mark, kept: &mut Kept) {
        let is_kept = match kept {
            Kept::ToLearn if (self.marks.len() as u64) < MOST_LEARNED => true,
            Kept::ToLearn => {
                self.beyond += 1;
                false
            }
            Kept::Of(left) => match left.get_mut(&mark.name) {
                Some(left) if *left > 0 => {
                    *left -= 1;
                    true
                }
                _ => false,
            },
        };
        if is_kept {
            self.marks.push(Reached { name: mark.name, at_ns: mark.at_ns });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::process::Stdio;

    use super::*;

    const TASK: &str = "NETFATHOM_EMITTED_TASK";
    /// More than the ring holds, and more than are kept to learn from.
    const PAIRS: u64 = 80_000;

    #[test]
    fn a_task_of_another_test() {
        if env::var_os(TASK).is_none() {
            return;
        }
        for pair in 0..PAIRS {
            netfathom_mark::mark("a");
            netfathom_mark::mark("b");
            if pair % 500 == 0 {
                thread::sleep(Duration::from_millis(6));
            }
        }
        netfathom_mark::mark("last");
    }

    /// Its name among the tests, which has no name of the crate.
    fn task() -> String {
        let (_, module) = module_path!().split_once("::").unwrap();
        format!("{module}::a_task_of_another_test")
    }

    fn run(emitted: &mut Emitted, kept: Kept) -> Came {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", &task()]).env(TASK, "").stdout(Stdio::null());
        emitted.attach(&mut command);
        let mut child = command.spawn().unwrap();
        let (status, came) = emitted.during(kept, || child.wait().unwrap()).unwrap();
        assert!(status.success());
        came
    }

    #[test]
    fn of_more_marks_than_the_ring_holds_none_is_lost_and_the_wanted_ones_are_kept() {
        let mut emitted = Emitted::create().unwrap();
        let wanted = [("a", 1), ("b", 2), ("last", 1)].map(|(name, count)| (name.to_owned(), count));
        let came = run(&mut emitted, Kept::Of(wanted.into()));
        let names: Vec<&str> = came.marks.iter().map(|mark| mark.name.as_str()).collect();
        assert_eq!((names, came.beyond, came.lost), (vec!["a", "b", "b", "last"], 0, 0));
        let came = run(&mut emitted, Kept::ToLearn);
        assert_eq!((came.marks.len() as u64, came.lost), (MOST_LEARNED, 0));
        assert_eq!(came.beyond, 2 * PAIRS + 1 - MOST_LEARNED);
    }

    #[test]
    fn what_was_lost_is_that_of_one_run() {
        let mut emitted = Emitted::create().unwrap();
        for _ in 0..2 {
            let mut command = Command::new(env::current_exe().unwrap());
            command.args(["--exact", &task()]).env(TASK, "").stdout(Stdio::null());
            emitted.attach(&mut command);
            // All of it before anything is taken.
            assert!(command.status().unwrap().success());
            let (_, came) = emitted.during(Kept::ToLearn, || ()).unwrap();
            assert_eq!(came.marks.len() as u64 + came.lost, 2 * PAIRS + 1);
            assert!(came.lost > 0);
        }
    }
}
