//! An end of ours, in a thread of this test.

use std::io::{PipeReader, PipeWriter, Read, pipe};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use netfathom_measure::kind::transfer::{self, Around, Live, Standard, TransferError, TransferEvent};
use netfathom_model::plan::{Role, TransferPlan, Transport};
use netfathom_model::record::{TransferEnd, TransferResult};
use netfathom_model::verdict::Verdict;

/// Far beyond what anything here takes.
pub const HANGS: Duration = Duration::from_secs(30);

pub struct Here {
    pub stop: Arc<AtomicBool>,
    /// Read by the end, unless its data is generated.
    pub input: Option<PipeWriter>,
    pub output: Option<PipeReader>,
    events: Receiver<TransferEvent>,
    running: JoinHandle<Result<(TransferResult, Verdict), TransferError>>,
}

/// A receiver at a free port, which throws its data away.
pub fn receiver(protocol: Transport) -> TransferPlan {
    // 0, which no user may ask for, takes one.
    TransferPlan { role: Role::Receive, ..sender(protocol, ([127, 0, 0, 1], 0).into()) }
}

pub fn sender(protocol: Transport, to: SocketAddr) -> TransferPlan {
    let (host, port) = (Some(to.ip().to_string()), to.port());
    TransferPlan { protocol, host, port, generated: true, ..TransferPlan::classic(Role::Transmit) }
}

/// A sender over TCP with a change to its plan, and the other end of its connection.
pub fn accepted(change: impl FnOnce(&mut TransferPlan)) -> (Here, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut plan = sender(Transport::Tcp, listener.local_addr().unwrap());
    change(&mut plan);
    (Here::start(plan), listener.accept().unwrap().0)
}

/// All that comes, after which the connection is closed.
pub fn read_all(mut from: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).unwrap();
    bytes
}

impl Here {
    pub fn start(plan: TransferPlan) -> Self {
        let (input, into) = pipe().unwrap();
        let (out, output) = pipe().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, events) = channel();
        let stopped = Arc::clone(&stop);
        let running = thread::spawn(move || run(&plan, &input, &output, &stopped, &tell));
        Self { stop, input: Some(into), output: Some(out), events, running }
    }

    pub fn event(&self) -> TransferEvent {
        self.events.recv_timeout(HANGS).expect("an end that goes on")
    }

    pub fn address(&self) -> SocketAddr {
        loop {
            if let TransferEvent::Listening(at) = self.event() {
                return at;
            }
        }
    }

    pub fn end(self) -> Result<(TransferResult, Verdict), TransferError> {
        self.running.join().unwrap()
    }

    /// Waits for its end, which is a result.
    pub fn result(self) -> TransferResult {
        self.end().unwrap().0
    }
}

fn run(
    plan: &TransferPlan,
    input: &PipeReader,
    output: &PipeWriter,
    stop: &AtomicBool,
    tell: &Sender<TransferEvent>,
) -> Result<(TransferResult, Verdict), TransferError> {
    let live = Live::default();
    let standard = Standard { input: input.as_fd(), output: output.as_fd() };
    // Who does not listen does not want to know.
    let tell = |event| {
        let _ = tell.send(event);
    };
    transfer::run(plan, Around { standard, live: &live, stop, tell: &tell }).map(|p| (p.result, p.verdict))
}

pub fn why(result: &TransferResult) -> &str {
    match &result.end {
        TransferEnd::Broken { why } => why,
        other => panic!("it did not break off: {other:?}"),
    }
}
