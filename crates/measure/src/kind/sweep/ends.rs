//! The two ends of a sweep, and one transfer between them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use netfathom_model::environment::Device;
use netfathom_model::plan::{Combination, Family, Role, SweepEnds, SweepPlan, TransferPlan};
use netfathom_model::record::TransferResult;

use crate::ground::error::Failure;
use crate::ground::lab::wire::WireError;
use crate::ground::lab::{self, Lab, LabError};
use crate::ground::observer::Progressed;
use crate::kind::transfer::{self, Around, Live, Standard, TransferError, TransferEvent};

/// What the receiver reads at once: as much as there is, so that it is never what is measured.
const READ_BYTES: u64 = 64 << 10;
const NOT_SERVED: &str =
    "; a sweep needs a receiver that takes one sender after the other: netfathom ttcp -rs --serve";

/// Why a sweep could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    #[error("{0}; without root: --here loopback, which has no --delay, --rate or --loss")]
    NoLab(#[from] WireError),
    #[error("{source}{remedy}")]
    Transfer { source: TransferError, remedy: &'static str },
}

impl Failure for SweepError {}

type Transferred = Result<Progressed<TransferResult>, TransferError>;

pub enum Ends {
    Lab(Box<Lab>),
    Loopback,
    /// The receiver is elsewhere.
    Host(String, u16),
}

impl Ends {
    /// Makes the lab where there is to be one.
    pub fn build(plan: &SweepPlan) -> Result<Self, SweepError> {
        let lab = match &plan.ends {
            SweepEnds::Lab { wire: Some(wire) } => Lab::over(wire, plan.seed)?,
            SweepEnds::Lab { wire: None } => Lab::create().map_err(WireError::from)?,
            SweepEnds::Loopback => return Ok(Self::Loopback),
            SweepEnds::Host { name, port } => return Ok(Self::Host(name.clone(), *port)),
        };
        Ok(Self::Lab(Box::new(lab)))
    }

    pub fn lab(&self) -> Option<&Lab> {
        match self {
            Self::Lab(lab) => Some(lab),
            _ => None,
        }
    }

    /// The devices on the path, as far as they are ours.
    pub fn devices(&self) -> Vec<Device> {
        match self {
            Self::Lab(lab) => [lab::Role::Sender, lab::Role::Reader].map(|role| lab.device(role)).to_vec(),
            _ => Vec::new(),
        }
    }

    /// One transfer, with fresh sockets; `None` where the user ended it before it began.
    pub fn trial(
        &self,
        plan: &SweepPlan,
        c: Combination,
        stop: &AtomicBool,
    ) -> Result<Option<TransferResult>, SweepError> {
        let (outcome, remedy) = match self {
            Self::Lab(lab) => (in_lab(lab, plan, c, stop)?, ""),
            Self::Loopback => {
                let here = IpAddr::from(Ipv4Addr::LOCALHOST);
                let receive = |at, listening, stop: &AtomicBool| receive(plan, at, listening, stop);
                (between(here, |to| send(plan, c, to, stop), receive, stop), "")
            }
            Self::Host(name, port) => (make(&plan.transfer(c, name, *port), stop, &|_| {}), NOT_SERVED),
        };
        match outcome {
            Ok(progressed) => Ok(Some(progressed.result)),
            Err(TransferError::Interrupted) => Ok(None),
            Err(source) => Err(SweepError::Transfer { source, remedy }),
        }
    }
}

fn in_lab(lab: &Lab, plan: &SweepPlan, c: Combination, stop: &AtomicBool) -> Result<Transferred, SweepError> {
    let no_way_in = |e| SweepError::from(WireError::from(LabError::from(e)));
    // Each end is made by a thread that is in its namespace, which its own threads inherit. That it
    // can be entered is asked before, so that neither waits for the other in vain.
    lab.sender.run(|| ()).map_err(no_way_in)?;
    lab.reader.run(|| ()).map_err(no_way_in)?;
    let entered = "the namespace was entered a moment ago";
    Ok(between(
        lab.reader_addr(Family::Ipv4),
        |to| lab.sender.run(|| send(plan, c, to, stop)).expect(entered),
        |at, listening, stop| lab.reader.run(|| receive(plan, at, listening, stop)).expect(entered),
        stop,
    ))
}

/// Both ends at once, the receiver first; what became of the sender.
fn between(
    at: IpAddr,
    send: impl FnOnce(SocketAddr) -> Transferred,
    receive: impl FnOnce(IpAddr, Sender<SocketAddr>, &AtomicBool) -> Transferred + Send,
    stop: &AtomicBool,
) -> Transferred {
    let gone = AtomicBool::new(false);
    thread::scope(|scope| {
        let (listening, ready) = channel();
        let receiver = thread::Builder::new().name("receiver".into());
        let receiver = receiver.spawn_scoped(scope, || receive(at, listening, &gone));
        let receiver = receiver.map_err(TransferError::NoThread)?;
        // Without an address it has failed, and says why.
        let sent = ready.recv().ok().map(send);
        if stop.load(Relaxed) || !matches!(sent, Some(Ok(_))) {
            // No further sender comes.
            gone.store(true, Relaxed);
        }
        let received = receiver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        sent.unwrap_or(received)
    })
}

fn send(plan: &SweepPlan, c: Combination, to: SocketAddr, stop: &AtomicBool) -> Transferred {
    make(&plan.transfer(c, &to.ip().to_string(), to.port()), stop, &|_| {})
}

fn receive(sweep: &SweepPlan, at: IpAddr, listening: Sender<SocketAddr>, stop: &AtomicBool) -> Transferred {
    let mut plan = TransferPlan::classic(Role::Receive);
    plan.socket_buffer_bytes = sweep.receive_buffer_bytes;
    // A free port: another sweep may run beside this one.
    (plan.host, plan.port, plan.generated) = (Some(at.to_string()), 0, true);
    (plan.buffer_bytes, plan.buffer_named) = (READ_BYTES, true);
    make(&plan, stop, &move |event| {
        if let TransferEvent::Listening(at) = event {
            // Whoever wants to know waits for it.
            let _ = listening.send(at);
        }
    })
}

fn make(plan: &TransferPlan, stop: &AtomicBool, tell: &(dyn Fn(TransferEvent) + Sync)) -> Transferred {
    let (input, output) = (io::stdin(), io::stdout());
    // The data is generated and discarded: neither is touched.
    let standard = Standard { input: input.as_fd(), output: output.as_fd() };
    let live = Live::default();
    transfer::part(plan, Around { standard, live: &live, stop, tell })
}
