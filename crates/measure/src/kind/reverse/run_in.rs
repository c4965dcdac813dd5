//! The load before a trial, alone.

use std::sync::atomic::AtomicBool;
use std::thread;

use netfathom_model::plan::Spin;

use super::sockets::Sockets;
use super::trial::{ReverseTask, cloned, joined, on};
use crate::ground::observer::Live;
use crate::load::engine::Send;
use crate::load::error::FlightError;
use crate::load::flight::{flat_out, spawn, windows_from_now};
use crate::load::sender::{SenderPlan, SenderTask, send_all};

/// Long enough for the scheduler to move other programs from the sender's processor.
const RUN_IN_NS: u64 = 200_000_000;

/// Sends for a while without anything beside it, and keeps nothing of it: what the first
/// moments of a load set going would otherwise be taken for a part of the trial, and lie in
/// that which all others are compared with.
pub fn run(task: &ReverseTask<'_>, sockets: &Sockets) -> Result<(), FlightError> {
    let mut engine = Send::new(cloned(&sockets.sender)?, task.bench.plan.size_bytes);
    let windows = windows_from_now(RUN_IN_NS);
    // Of no trial, by its flow: neither timed nor answered.
    let plan = SenderPlan::single(0, windows, windows.start_ns + RUN_IN_NS, Spin::Auto);
    let (stop, gone, live) = (task.bench.stop, &AtomicBool::new(false), &Live::default());
    let sending = SenderTask { plan, stop, gone, live };
    thread::scope(|scope| {
        let send = || on(task.bench.cpus.0, || Ok(send_all(&sending, flat_out(), &mut engine, &mut ())));
        joined(spawn(scope, "run-in", send), "run-in")
    })?;
    Ok(())
}
