//! Both ends of a transfer in this test, in a lab or over loopback.

use std::io::{PipeReader, PipeWriter, pipe};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use netfathom_measure::ground::lab::Lab;
use netfathom_measure::kind::transfer::{self, Around, Live, Standard, TransferEvent};
use netfathom_model::plan::{Family, Role, TransferPlan, Wire};
use netfathom_model::record::{Cause, Explanation, TransferResult};
use netfathom_sys::netns::Namespace;
use netfathom_testkit::{alone, unless_disturbed};

/// Far beyond what anything here takes.
const HANGS: Duration = Duration::from_secs(60);

#[derive(Clone)]
pub enum Between {
    Loopback,
    Veth,
    Wire(Wire),
}

/// What feeds the sender and what takes from the receiver, made anew for each run.
pub type Programs = fn() -> TwoPrograms;
pub type TwoPrograms = (Box<dyn FnOnce(PipeWriter) + Send>, Box<dyn FnOnce(PipeReader) + Send>);

#[derive(Clone)]
pub struct Situation {
    pub between: Between,
    pub sends: TransferPlan,
    pub receives: TransferPlan,
    pub programs: Programs,
    /// A receiver that is none of ours.
    pub foreign: Option<fn(TcpStream)>,
}

/// Both ends, watched.
pub struct Outcome {
    pub sent: TransferResult,
    pub received: Option<TransferResult>,
}

impl Outcome {
    /// Bytes a second, to the moment at which the receiver had everything.
    pub fn rate(&self) -> f64 {
        let stream = &self.sent.streams[0];
        stream.bytes as f64 / (stream.closed_ns.unwrap_or(stream.duration_ns) as f64 / 1e9)
    }

    pub fn explanation_there(&self) -> &Explanation {
        self.sent.explanation.as_ref().expect("it was asked for")
    }

    /// What each end says is its cause and why; an error unless it is the one that is there, with a large share of
    /// the time and a reason.
    fn names(&self, at_sender: Cause, at_receiver: Cause) -> Result<(), String> {
        let there = self.received.as_ref();
        for (result, cause) in [(Some(&self.sent), at_sender), (there, at_receiver)] {
            let Some(result) = result else { continue };
            let explanation = result.explanation.as_ref().expect("it was asked for");
            let reasoned =
                explanation.share > 0.1 && !explanation.evidence.is_empty() && !explanation.remedy.is_empty();
            if explanation.cause != cause || !reasoned {
                let stream = &result.streams[0];
                let seen = (stream.calls_took, stream.tcp, stream.samples.len());
                return Err(format!(
                    "{:?}, not {}: {explanation:#?} {seen:?}",
                    result.plan.role,
                    cause.name()
                ));
            }
        }
        Ok(())
    }
}

impl Situation {
    /// Generated data, for a while.
    pub fn over(between: Between) -> Self {
        let mut sends = TransferPlan::classic(Role::Transmit);
        let mut receives = TransferPlan::classic(Role::Receive);
        for plan in [&mut sends, &mut receives] {
            (plan.generated, plan.explain) = (true, true);
        }
        sends.time_ns = Some(1_000_000_000);
        // 0, which no user may ask for, takes a free port.
        receives.port = 0;
        // bbr, which may be the system's, paces itself.
        sends.congestion = Some("cubic".into());
        let programs: Programs = || (Box::new(drop), Box::new(drop));
        Self { between, sends, receives, programs, foreign: None }
    }

    /// The same, over a path that takes so long in each direction.
    pub fn after(ms: u64) -> Self {
        Self::over(Between::Wire(Wire::long(ms * 1_000_000)))
    }

    pub fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut changed = self.clone();
        change(&mut changed);
        changed
    }

    /// A run in which each end names its cause; none if others had the processors, and so may truly have been another.
    pub fn shows(&self, at_sender: Cause, at_receiver: Cause) -> Option<Outcome> {
        unless_disturbed(|| {
            let outcome = self.run();
            outcome.names(at_sender, at_receiver).map(|()| outcome)
        })
    }

    /// A run that a change makes this many times faster than it was; none if others had the processors.
    pub fn cured_by(&self, change: impl Fn(&mut Self), times: f64, was: &Outcome) -> Option<Outcome> {
        unless_disturbed(|| {
            let cured = self.with(change).run();
            let is = cured.rate() / was.rate();
            if is > times { Ok(cured) } else { Err(format!("{is} times as fast, not {times}")) }
        })
    }

    pub fn run(&self) -> Outcome {
        let _alone = alone();
        let lab = match &self.between {
            Between::Loopback => {
                let here = Namespace::current().unwrap();
                return self.run_in([&here, &here], Ipv4Addr::LOCALHOST.into());
            }
            Between::Veth => Lab::create().unwrap(),
            Between::Wire(wire) => Lab::over(wire, 42).unwrap(),
        };
        self.run_in([&lab.sender, &lab.reader], lab.reader_addr(Family::Ipv4))
    }

    fn run_in(&self, [here, there]: [&Namespace; 2], address: IpAddr) -> Outcome {
        let (input, into) = pipe().unwrap();
        let (out, output) = pipe().unwrap();
        let (feeds, takes) = (self.programs)();
        thread::scope(|scope| {
            let (tell, events) = channel();
            let mut receives = self.receives.clone();
            receives.host = Some(address.to_string());
            let foreign = self.foreign;
            let receiver = scope.spawn(move || {
                there.run(|| match foreign {
                    Some(program) => accepted(address, &tell, program),
                    None => Some(end(&receives, None, Some(output), &tell)),
                })
            });
            scope.spawn(move || takes(out));
            let at = listening(&events);
            let mut sends = self.sends.clone();
            (sends.host, sends.port) = (Some(at.ip().to_string()), at.port());
            let sender = scope.spawn(move || here.run(|| end(&sends, Some(input), None, &channel().0)));
            scope.spawn(move || feeds(into));
            let sent = sender.join().unwrap().unwrap();
            Outcome { sent, received: receiver.join().unwrap().unwrap() }
        })
    }
}

fn accepted(address: IpAddr, tell: &Sender<TransferEvent>, program: fn(TcpStream)) -> Option<TransferResult> {
    let listener = TcpListener::bind((address, 0)).unwrap();
    tell.send(TransferEvent::Listening(listener.local_addr().unwrap())).unwrap();
    program(listener.accept().unwrap().0);
    None
}

fn listening(events: &Receiver<TransferEvent>) -> SocketAddr {
    loop {
        if let TransferEvent::Listening(at) = events.recv_timeout(HANGS).expect("a receiver that listens") {
            return at;
        }
    }
}

fn end(
    plan: &TransferPlan,
    input: Option<PipeReader>,
    output: Option<PipeWriter>,
    tell: &Sender<TransferEvent>,
) -> TransferResult {
    let (live, stop) = (Live::default(), AtomicBool::new(false));
    let nothing = pipe().unwrap();
    let standard = Standard {
        input: input.as_ref().unwrap_or(&nothing.0).as_fd(),
        output: output.as_ref().unwrap_or(&nothing.1).as_fd(),
    };
    let tell = |event| {
        // Who does not listen does not want to know.
        let _ = tell.send(event);
    };
    transfer::run(plan, Around { standard, live: &live, stop: &stop, tell: &tell }).unwrap().result
}
