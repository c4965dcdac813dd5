//! The listening side of `stack rx --listen`: `netfathom load send` on another host connects here, once for each of its
//! trials.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use netfathom_model::plan::StackPlan;
use netfathom_model::verdict::Finding;

use crate::load::control::protocol::{Hello, Why};
use crate::load::control::{Incoming, Listener};
use crate::tap::error::TapError;

/// How long the door is listened at before it is looked whether to end.
const PATIENCE: Duration = Duration::from_millis(100);
/// More senders than any machine has processors for.
const MOST_LANES: u32 = 256;

/// An open door, and what happened at it.
pub struct Listening {
    listener: Listener,
    /// Senders at the same time: as many as the first load had.
    lanes: Cell<Option<u32>>,
    thrown_away: RefCell<Vec<String>>,
}

impl Listening {
    /// Opens the door; the port is free for the load too.
    pub fn at(address: SocketAddr) -> Result<Self, TapError> {
        let (listener, _) = Listener::bind_with(address, None, 1, std::net::UdpSocket::bind)?;
        Ok(Self { listener, lanes: Cell::default(), thrown_away: RefCell::default() })
    }

    /// The port of the conversation and of the load.
    pub fn port(&self) -> u16 {
        self.listener.local_addr().port()
    }

    /// How many senders the loads have, once there was one.
    pub fn lanes(&self) -> Option<u32> {
        self.lanes.get()
    }

    /// What to do on the other host, so that the next trials can be run. The engine is named because
    /// one that batches would look late here, where its batches are unknown.
    pub fn command(&self, plan: &StackPlan, trials: usize) -> String {
        let address = self.listener.local_addr();
        // That of all addresses is none to send to.
        let to = if address.ip().is_unspecified() {
            format!("ADDR:{}", address.port())
        } else {
            address.to_string()
        };
        let (profile, size) = (&plan.profile, plan.size_bytes);
        format!(
            "netfathom load send --to {to} --engine send --profile {profile} --size {size} --trials {trials}"
        )
    }

    /// The next sender with a load of this plan, however long that takes; `None` when the user wants an
    /// end. Other senders are refused with the required plan.
    pub fn next(
        &self,
        plan: &StackPlan,
        trials: usize,
        stop: &AtomicBool,
    ) -> Result<Option<Incoming>, TapError> {
        while !stop.load(Relaxed) {
            let Some(incoming) = self.listener.accept(PATIENCE)? else { continue };
            if self.is_wanted(incoming.hello(), plan) {
                self.lanes.set(Some(incoming.hello().lanes));
                return Ok(Some(incoming));
            }
            let text = format!("it measures one load and no other: {}", self.command(plan, trials));
            // One that has gone already needs no answer.
            let _ = incoming.refuse(Why::Limit { text });
        }
        Ok(None)
    }

    /// All trials of a run have the load of its plan, from as many senders.
    fn is_wanted(&self, hello: &Hello, plan: &StackPlan) -> bool {
        let lanes = self.lanes.get().map_or(1..=MOST_LANES, |lanes| lanes..=lanes);
        !hello.echo
            && hello.size_bytes == plan.size_bytes
            && hello.planned == plan.profile.messages()
            && hello.duration_ns == plan.profile.duration_ns()
            && lanes.contains(&hello.lanes)
    }

    /// Records a trial without a result, and why.
    pub fn throw_away(&self, why: String) {
        self.thrown_away.borrow_mut().push(why);
    }

    pub fn finding(&self) -> Option<Finding> {
        let thrown_away = self.thrown_away.borrow();
        let last = thrown_away.last()?;
        Some(Finding {
            seen: format!("{} trials were begun and thrown away", thrown_away.len()),
            cause: "their sender was lost before they were over: it was stopped, or the way between the hosts is not reliable".into(),
            evidence: format!("of the last one: {last}"),
            remedy: "see the output of `netfathom load send` on the other host; each trial was run again".into(),
        })
    }
}
