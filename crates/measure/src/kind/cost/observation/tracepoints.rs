//! Marks by tracepoints.

use std::io;
use std::time::Duration;

use netfathom_bpf::tree::{CallTimes, Tree, TreeError, Watching, What};

use netfathom_model::record::CpuWaits;

use super::points::Points;
use super::{Reached, Spent};

/// How long the kernel may take to let go of threads that have ended.
const PATIENCE: Duration = Duration::from_secs(1);

/// The kernel programs, for all starts of a benchmark.
pub(super) struct Traced {
    tree: Tree,
    calls: Vec<(u32, u64)>,
    marks: Vec<Reached>,
    /// Why it cannot follow waits for CPUs, if it cannot.
    blind: Option<String>,
}

impl Traced {
    pub fn attach(points: &Points, record_calls: bool) -> Result<Self, TreeError> {
        let watching = Watching { opens: points.names(), calls: points.calls(), record_calls, waits: true };
        // Not every kernel keeps the account of threads that waits are known by.
        let (tree, blind) = match Tree::attach(&watching) {
            Ok(tree) => (tree, None),
            Err(why) => {
                (Tree::attach(&Watching { waits: false, ..watching.clone() })?, Some(why.to_string()))
            }
        };
        Ok(Self { tree, calls: watching.calls, marks: Vec::new(), blind })
    }

    /// The next child of the calling thread is the benchmark. Attaching takes milliseconds, which one without
    /// marks waits too.
    pub fn expect(&mut self, armed: bool) -> io::Result<()> {
        self.tree.reset().map_err(io::Error::other)?;
        self.tree.arm(true).map_err(io::Error::other)?;
        if !armed {
            self.disarm()?;
        }
        self.marks.clear();
        self.tree.adopt_next_child();
        Ok(())
    }

    pub fn expect_no_more(&mut self) -> io::Result<()> {
        self.tree.adopt_no_child();
        self.disarm()
    }

    /// Takes the programs at system calls away.
    pub fn disarm(&mut self) -> io::Result<()> {
        self.tree.arm(false).map_err(io::Error::other)
    }

    /// Takes what has come so far out of the kernel's memory, so that it does not fill.
    pub fn drain(&mut self, points: &Points) -> io::Result<()> {
        for event in self.tree.events().map_err(io::Error::other)? {
            let reached = match event.what {
                What::Opened { path, cut, .. } => points.opened(&path, cut),
                What::Called { which } => {
                    self.calls.get(which).map(|&(number, k)| points.called(number, k)).unwrap_or_default()
                }
            };
            self.marks.extend(reached.into_iter().map(|index| Reached { index, at_ns: event.at_ns }));
        }
        Ok(())
    }

    /// Its marks, what it spent, and how much of either was lost, after it was reaped.
    pub fn tell(&mut self, points: &Points) -> io::Result<(Vec<Reached>, Spent, u64)> {
        self.tree.settle(PATIENCE).map_err(io::Error::other)?;
        self.drain(points)?;
        let mut marks = std::mem::take(&mut self.marks);
        marks.sort_by_key(|mark| mark.at_ns);
        let lost = self.tree.lost();
        let spent = Spent::of_tree(&self.tree.spent(), lost.threads);
        Ok((marks, spent, lost.events + lost.threads + lost.unread_paths))
    }

    /// Follows who has the CPUs that the benchmark waits for, or ends it.
    pub fn follow_waits(&mut self, follow: bool) -> io::Result<()> {
        match &self.blind {
            Some(why) => Err(io::Error::other(why.clone())),
            None => self.tree.follow_waits(follow).map_err(io::Error::other),
        }
    }

    pub fn waits(&self) -> io::Result<CpuWaits> {
        self.tree.waits().map_err(io::Error::other)
    }

    /// The benchmark's system calls, where they are recorded.
    pub fn calls(&self) -> io::Result<Vec<CallTimes>> {
        Ok(self.tree.recorded().map_err(io::Error::other)?.calls)
    }
}
