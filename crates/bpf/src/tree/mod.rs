//! A tree of processes, followed from its first process on: a benchmark.
//!
//! The result is what it spent, and when it came by its marks: a file of a name was opened, a system call was
//! made for the k-th time. The benchmark is not changed for it, and does not notice.
//!
//! What it costs: forks, programs and ends of all processes of the machine pass a program that makes a look-up
//! or two. Marks at system calls put such a look-up into every system call of the machine, and are attached
//! only while they are armed. There is nothing in the scheduler but while waits are followed.
//!
//! What it does not see: the calls of 32-bit programs are taken for those of the 64-bit numbers. Threads that
//! the kernel makes for io_uring are followed.

use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

use libbpf_rs::{Link, MapCore, MapFlags, Object, OpenObject};
use netfathom_model::record::CpuWaits;
use netfathom_sys::cpu::thread_id;

mod call_records;
mod event;
mod shared;
mod spent;
#[cfg(test)]
mod tests;
mod watching;

crate::mapping::abi!("tree");

pub use call_records::{CallTimes, Called, Recorded, call_name};
pub use event::{TreeEvent, What};
pub use spent::{Lost, Spent};
pub use watching::Watching;

use self::abi::copied::Member;
use self::abi::shared::{Shared, Tree as TreeState};
use self::shared::ORDER;
use self::watching::SWITCH;
use crate::holders;
use crate::mapping::{Mapping, from_bytes};
use crate::set::{Set, SetError, set_namespace};

const SET: Set = Set {
    name: "the programs that follow processes",
    object: include_bytes!(concat!(env!("OUT_DIR"), "/tree.bpf.o")),
    shares_clock: true,
};
const FOLLOWING: [&str; 4] = ["on_free", "on_exit", "on_exec", "on_new_task"];

/// Why a tree cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    #[error(transparent)]
    Set(#[from] SetError),
    #[error("{0}")]
    Mark(String),
}

/// Programs that follow a tree; dropping them detaches them, and so does the end of this process.
pub struct Tree {
    object: Object,
    mapping: Mapping<Shared>,
    at_calls: Vec<&'static str>,
    armed: Vec<Link>,
    _following: Vec<Link>,
    /// At every switch of the machine.
    at_switches: Vec<Link>,
}

impl Tree {
    /// Begins to follow, no process so far, and without programs at system calls: see [`Self::arm`].
    ///
    /// # Errors
    /// What the kernel refused. Needs CAP_BPF and CAP_PERFMON, BTF, and Linux 5.8 (ring buffers).
    pub fn attach(watching: &Watching) -> Result<Self, TreeError> {
        watching.check()?;
        let at_calls = watching.programs();
        let is_wanted = |name: &str| {
            FOLLOWING.contains(&name) || at_calls.contains(&name) || watching.waits && name == SWITCH
        };
        let mut open = SET.open(is_wanted)?;
        if watching.record_calls {
            make_room_for_order(&mut open)?;
        }
        let object = SET.load(open)?;
        let mapping: Mapping<Shared> = SET.memory(&object)?;
        let shared = mapping.get();
        set_namespace(&shared.namespace.device, &shared.namespace.inode)?;
        shared.sums_from_rq.store(holders::sums_from_rq(), Relaxed);
        watching.fill(shared, &SET.map(&object, "names")?, &SET.map(&object, "calls")?)?;
        let following = link(&object, &FOLLOWING)?;
        Ok(Self {
            object,
            mapping,
            at_calls,
            armed: Vec::new(),
            _following: following,
            at_switches: Vec::new(),
        })
    }

    /// Attaches the programs at system calls, or takes them away again: then nothing of this is in the way of
    /// a system call, and there are no marks. It takes some milliseconds.
    pub fn arm(&mut self, armed: bool) -> Result<(), TreeError> {
        match (armed, self.armed.is_empty()) {
            (true, true) => self.armed = link(&self.object, &self.at_calls)?,
            (false, _) => self.armed.clear(),
            (true, false) => {}
        }
        Ok(())
    }

    /// Begins anew to sum who has the processors that threads of the tree wait for, or ends it. Until then every switch of
    /// the machine takes a little longer.
    ///
    /// # Errors
    /// What the kernel refused; [`SetError::Abi`] if [`Watching::waits`] was not set.
    pub fn follow_waits(&mut self, follow: bool) -> Result<(), SetError> {
        self.at_switches.clear();
        if follow {
            holders::clear(&SET, &self.object)?;
            self.seen().waited_ns.store(0, Relaxed);
            self.at_switches = link(&self.object, &[SWITCH])?;
        }
        Ok(())
    }

    /// What threads of the tree waited for processors while waits were followed, and who had them.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn waits(&self) -> Result<CpuWaits, SetError> {
        holders::read(&SET, &self.object, || Ok(self.seen().waited_ns.load(Relaxed)))
    }

    /// The next process that the calling thread makes is the first of the tree; its threads do not count.
    pub fn adopt_next_child(&self) {
        self.seen().awaited_of.store(thread_id().into(), Relaxed);
    }

    /// No more waits for a process that was not made after [`Self::adopt_next_child`].
    pub fn adopt_no_child(&self) {
        self.seen().awaited_of.store(0, Relaxed);
    }

    /// What it did since the last time this was asked, in order of time.
    pub fn events(&self) -> Result<Vec<TreeEvent>, SetError> {
        let mut events = SET.take(&self.object, "ring", event::read)?;
        // A path that was read late comes after what happened since.
        events.sort_by_key(|event| event.at_ns);
        Ok(events)
    }

    /// Waits until what those of its threads spent that have ended is summed, at most for so long. It takes
    /// some 10 ms after the last of them was reaped. Of threads without an event until then,
    /// because they were not reaped, what they had spent when they began to end is taken ([`Spent::early`]).
    pub fn settle(&self, limit: Duration) -> Result<(), SetError> {
        let until = Instant::now() + limit;
        // Acquire: who sees that the last one is settled sees what it spent (add_published of include/order.h).
        let settled = || self.seen().settled.load(Acquire) == self.seen().exited.load(Relaxed);
        while !settled() && Instant::now() < until {
            sleep(Duration::from_millis(1));
        }
        if settled() {
            return Ok(());
        }
        let ended = self.take_out(|member| member.exited != 0)?;
        ended.iter().for_each(|member| self.seen().settle_early(member));
        Ok(())
    }

    /// Takes those members out that are to go.
    fn take_out(&self, goes: impl Fn(&Member) -> bool) -> Result<Vec<Member>, SetError> {
        let members = SET.map(&self.object, "members")?;
        let mut taken = Vec::new();
        for key in members.keys().collect::<Vec<_>>() {
            // One that is gone by now was to go.
            let Some(value) = members.lookup(&key, MapFlags::ANY).map_err(SET.step("ask"))? else { continue };
            let member: Member = from_bytes(&value).ok_or_else(|| SET.abi("members"))?;
            // Whoever takes it out is the one to sum it.
            if goes(&member) && members.delete(&key).is_ok() {
                taken.push(member);
            }
        }
        Ok(taken)
    }

    /// What those threads spent that are summed. Of those that run on nothing is in it: end them first.
    pub fn spent(&self) -> Spent {
        self.seen().spent()
    }

    /// All its system calls, if [`Watching::record_calls`] was set.
    pub fn recorded(&self) -> Result<Recorded, SetError> {
        let calls = call_records::sums(&SET.map(&self.object, "call_sums")?)?;
        let count = self.seen().recorded.load(Relaxed);
        Ok(Recorded { calls, first: call_records::first(&SET.map(&self.object, "order")?, count)? })
    }

    pub fn lost(&self) -> Lost {
        self.mapping.get().lost()
    }

    /// Forgets whom it had, all that was found out about it, its events and what was lost, for another trial.
    /// Who still runs is no longer followed.
    pub fn reset(&self) -> Result<(), SetError> {
        self.take_out(|_| true)?;
        if self.at_calls.contains(&watching::RECORD) {
            call_records::clear(&SET.map(&self.object, "call_sums")?)?;
        }
        self.mapping.get().clear();
        self.events().map(drop)
    }

    fn seen(&self) -> &TreeState {
        &self.mapping.get().tree
    }
}

fn make_room_for_order(open: &mut OpenObject) -> Result<(), SetError> {
    let order = open.maps_mut().find(|map| map.name() == "order");
    let mut order = order.ok_or_else(|| SET.abi("order"))?;
    order.set_max_entries(ORDER as u32).map_err(SET.step("enlarge the memory of"))
}

fn link(object: &Object, names: &[&'static str]) -> Result<Vec<Link>, SetError> {
    let attach = |&name: &_| SET.program(object, name)?.attach().map_err(SET.step("attach"));
    names.iter().map(attach).collect()
}
