//! What the program under test has to do besides being there: packets, or a command.

use std::io;
use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use netfathom_model::environment::Device;
use netfathom_model::plan::{CostLevel, CostLoad, CostPlan, Family, Spin};
use netfathom_model::profile::{MAX_DURATION_NS, Profile};
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::netns::Namespace;

use super::conditions::is_none;
use super::error::CostError;
use super::program::{Command, Context, Pause, Switch};
use crate::ground::error::GroundError;
use crate::ground::lab::{Lab, Role};
use crate::ground::observer::Live;
use crate::load::engine;
use crate::load::flight::{LEAD_IN_NS, windows_from_now};
use crate::load::sender::{SenderPlan, SenderTask, send_all};

/// Ethernet, IPv4 and UDP: what a frame has before the message.
const HEADER_BYTES: u32 = 14 + 20 + 8;
/// The smallest buffer that the kernel grants: unread packets are to be dropped soon.
const LEAST_BUFFER: i32 = 1;

pub enum BackgroundLoad<'a> {
    None,
    /// Packets from one host of the lab to the other.
    Udp(Box<Udp>),
    Command {
        load: Box<Command<'a>>,
        /// While it runs.
        since_ns: Option<u64>,
    },
}

/// Packets to a socket without a reader.
pub struct Udp {
    lab: Lab,
    frame_bytes: u32,
    _far: UdpSocket,
    near: UdpSocket,
    sending: Option<Sending>,
}

struct Sending {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    bits_per_s: f64,
}

/// Datagrams that came in by a moment.
#[derive(Clone, Copy)]
pub struct Moment {
    at_ns: u64,
    datagrams: u64,
}

impl<'a> BackgroundLoad<'a> {
    /// Makes ready what the plan asks for, in the lab if that is where it goes.
    pub fn of(plan: &CostPlan, context: &Context, settle: Pause<'a>) -> Result<Self, CostError> {
        Ok(match &plan.load {
            None => Self::None,
            Some(CostLoad::Udp { frame_bytes }) => Self::Udp(Box::new(Udp::new(*frame_bytes)?)),
            Some(CostLoad::Command { command }) => {
                let argv = ["sh", "-c", command].map(String::from).to_vec();
                let load = Box::new(Command::new("the load", argv, context.of_load(), settle));
                Self::Command { load, since_ns: None }
            }
        })
    }

    /// The lab, if packets go through one.
    pub fn lab(&self) -> Option<&Lab> {
        match self {
            Self::Udp(udp) => Some(&udp.lab),
            _ => None,
        }
    }

    pub fn devices(&self) -> Vec<Device> {
        let of_lab = |lab: &Lab| vec![lab.device(Role::Sender), lab.device(Role::Reader)];
        self.lab().map(of_lab).unwrap_or_default()
    }

    pub fn on(&mut self, level: &CostLevel) -> Result<(), CostError> {
        match self {
            _ if is_none(level) => Ok(()),
            Self::None => Ok(()),
            Self::Udp(udp) => udp.on(level.bits_per_s.unwrap_or(0.0)),
            Self::Command { load, since_ns } => {
                load.on(Some(level))?;
                *since_ns = Some(monotonic_ns());
                Ok(())
            }
        }
    }

    /// What has come in so far; `None` where there are no packets.
    pub fn moment(&self) -> Result<Option<Moment>, CostError> {
        match self {
            Self::Udp(udp) if udp.sending.is_some() => udp.arrived().map(Some),
            _ => Ok(None),
        }
    }

    /// The part of its level that came in between two moments.
    pub fn reached(&self, from: Option<Moment>, to: Option<Moment>) -> Option<f64> {
        let Self::Udp(udp) = self else { return None };
        let (from, to, sending) = (from?, to?, udp.sending.as_ref()?);
        let seconds = to.at_ns.saturating_sub(from.at_ns) as f64 / 1e9;
        let bits = to.datagrams.saturating_sub(from.datagrams) as f64 * 8.0 * f64::from(udp.frame_bytes);
        Some(bits / seconds / sending.bits_per_s)
    }

    /// Ends. Why it was none, if it was none.
    pub fn off(&mut self) -> Result<Option<String>, CostError> {
        match self {
            Self::None => Ok(None),
            Self::Udp(udp) => udp.off().map(|()| None),
            Self::Command { load, since_ns } => {
                let Some(since_ns) = since_ns.take() else { return Ok(None) };
                Ok(load.off((since_ns, monotonic_ns()))?.trouble)
            }
        }
    }
}

impl Udp {
    fn new(frame_bytes: u32) -> Result<Self, CostError> {
        let lab = Lab::create().map_err(GroundError::from)?;
        let in_lab = |error| GroundError::Lab(crate::ground::lab::LabError::Namespace(error));
        let bind = |host: &Namespace, address: IpAddr| {
            host.run(|| UdpSocket::bind((address, 0))).map_err(in_lab)?.map_err(GroundError::Socket)
        };
        let far = bind(&lab.reader, lab.reader_addr(Family::Ipv4))?;
        let near = bind(&lab.sender, lab.sender_addr(Family::Ipv4))?;
        netfathom_sys::socket::set_receive_buffer(&far, LEAST_BUFFER).map_err(GroundError::Socket)?;
        near.connect(far.local_addr().map_err(GroundError::Socket)?).map_err(GroundError::Socket)?;
        Ok(Self { lab, frame_bytes, _far: far, near, sending: None })
    }

    fn on(&mut self, bits_per_s: f64) -> Result<(), CostError> {
        let rate_per_s = bits_per_s / (8.0 * f64::from(self.frame_bytes));
        let profile = Profile::Constant { rate_per_s, duration_ns: MAX_DURATION_NS };
        let socket = self.near.try_clone().map_err(CostError::Load)?;
        let mut engine = engine::Send::new(socket, (self.frame_bytes - HEADER_BYTES) as usize);
        let stop = Arc::new(AtomicBool::new(false));
        let stop_flag = Arc::clone(&stop);
        let send = move || {
            let windows = windows_from_now(MAX_DURATION_NS);
            // A processor that spins would be taken from the benchmark.
            let plan = SenderPlan::single(0, windows, windows.start_ns + MAX_DURATION_NS, Spin::Never);
            let (gone, live) = (&AtomicBool::new(false), &Live::default());
            let task = SenderTask { plan, stop: &stop_flag, gone, live };
            send_all(&task, profile.schedule(0).lane(0, 1), &mut engine, &mut ());
        };
        let thread = thread::Builder::new().name("load".into()).spawn(send).map_err(CostError::Load)?;
        self.sending = Some(Sending { stop, thread, bits_per_s });
        // Its thread is there before the first departure.
        thread::sleep(Duration::from_nanos(LEAD_IN_NS));
        Ok(())
    }

    fn off(&mut self) -> Result<(), CostError> {
        let Some(sending) = self.sending.take() else { return Ok(()) };
        sending.stop.store(true, Relaxed);
        let died = |_| CostError::Load(io::Error::other("its thread died: this is a bug in netfathom"));
        sending.thread.join().map_err(died)
    }

    /// What arrived at the far end so far, where no program reads: by the count of the stack, not of the sender.
    fn arrived(&self) -> Result<Moment, CostError> {
        let read = || netfathom_sys::counters::read();
        let counters = self.lab.reader.run(read).map_err(|e| CostError::Load(io::Error::other(e)))??;
        // A datagram for which the socket has no room is an error of receiving (net/ipv4/udp.c, 6.18).
        let datagrams = counters.udp4.in_datagrams + counters.udp4.in_errors;
        Ok(Moment { at_ns: monotonic_ns(), datagrams })
    }
}

impl Drop for Udp {
    fn drop(&mut self) {
        if let Some(sending) = &self.sending {
            sending.stop.store(true, Relaxed);
        }
    }
}
