//! The sender's side of the conversation.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::line::{Lines, Writer, open, printable};
use super::protocol::{FromSender, FromSink, Hello, Limits, SendTotals, Tally, Welcome, Why};
use super::{ANSWER_WITHIN, CONNECT_WITHIN, ControlError, DRAIN_MOST, LOST_AFTER};

/// A conversation with a sink. Dropped before its end, it hangs up.
#[derive(Debug)]
pub struct Session {
    pub welcome: Welcome,
    /// Messages, all lanes together.
    planned: u64,
    /// Before the sink had heard of the load.
    opened: Instant,
    /// The sink's state, for the sender's loop to poll.
    pub peer: Arc<Peer>,
    writer: Arc<Mutex<Writer>>,
    stage: Stage,
}

/// What is known of the sink while the load runs.
#[derive(Debug, Default)]
pub struct Peer {
    /// Whether it is lost; a sender that polls it stops within a message.
    pub lost: AtomicBool,
    /// Messages that it has seen, by its last report.
    pub delivered: AtomicU64,
    ended: AtomicBool,
}

#[derive(Debug)]
enum Stage {
    Opened(Lines),
    Watched(JoinHandle<Result<Tally, ControlError>>),
    Over,
}

impl Session {
    /// Greets the sink at an address, which is that of its UDP socket too.
    pub fn open(to: SocketAddr, hello: Hello) -> Result<Self, ControlError> {
        let (planned, opened) = (hello.planned, Instant::now());
        let stream = TcpStream::connect_timeout(&to, CONNECT_WITHIN)
            .map_err(|source| ControlError::Connect { address: to, source })?;
        let (mut lines, mut writer) = open(stream, to)?;
        // A sink that refuses at once may have closed already: its reply still counts.
        let written = writer.say(&FromSender::Hello(hello));
        let answer = lines.next(ANSWER_WITHIN, "a welcome");
        let mut welcome = match (written, answer) {
            (_, Ok(FromSink::Welcome(welcome))) => welcome,
            (_, Ok(FromSink::Refused { why })) => {
                return Err(ControlError::Refused { peer: to, why: harmless(why) });
            }
            (_, Ok(other)) => return Err(out_of_turn(&lines, "a welcome", &other)),
            (Err(e), Err(_)) | (Ok(()), Err(e)) => return Err(e),
        };
        welcome.tool = printable(&welcome.tool);
        let writer = Arc::new(Mutex::new(writer));
        Ok(Self { welcome, planned, opened, peer: Arc::default(), writer, stage: Stage::Opened(lines) })
    }

    /// Says that the load is about to begin and waits until the sink receives. From then on a
    /// thread of its own watches the sink, on the processors of the calling thread: call it
    /// before that one is bound to the sender's.
    ///
    /// # Panics
    /// If the load has begun before.
    pub fn begin(&mut self, start_ns: u64) -> Result<(), ControlError> {
        let Stage::Opened(mut lines) = std::mem::replace(&mut self.stage, Stage::Over) else {
            panic!("a session begins once");
        };
        self.writer.lock().say(&FromSender::Begin { start_ns })?;
        match lines.next(ANSWER_WITHIN, "that it is ready")? {
            FromSink::Ready => {}
            other => return Err(out_of_turn(&lines, "that it is ready", &other)),
        }
        let (writer, peer) = (Arc::clone(&self.writer), Arc::clone(&self.peer));
        let (planned, opened) = (self.planned, self.opened);
        let watch = move || {
            let limits = || Limits { planned, seen: peer.delivered.load(Relaxed), took: opened.elapsed() };
            let heard = watch(&mut lines, &writer, &peer, limits);
            peer.lost.store(heard.is_err(), Relaxed);
            heard
        };
        let thread = thread::Builder::new().name("nf-control".to_owned()).spawn(watch);
        let here = |source| ControlError::Here { action: "start the thread that watches the sink", source };
        self.stage = Stage::Watched(thread.map_err(here)?);
        Ok(())
    }

    /// Says what was sent and waits for what arrived.
    ///
    /// # Panics
    /// If the load has not begun.
    pub fn end(mut self, sent: SendTotals) -> Result<Tally, ControlError> {
        let Stage::Watched(watcher) = std::mem::replace(&mut self.stage, Stage::Over) else {
            panic!("a session ends after its begin");
        };
        // Before the line is sent: the tally may be here at once.
        self.peer.ended.store(true, Relaxed);
        let written = self.writer.lock().say(&FromSender::End(sent));
        if written.is_err() {
            self.writer.lock().hang_up();
        }
        // Why the watcher lost the sink says more than that nothing can be written to it.
        let heard = watcher.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        heard.and_then(|tally| written.map(|()| tally))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.writer.lock().hang_up();
        if let Stage::Watched(watcher) = std::mem::replace(&mut self.stage, Stage::Over) {
            // It has nothing more to tell.
            let _ = watcher.join();
        }
    }
}

/// Hears the sink until its tally, and answers each sign of life with one.
fn watch(
    lines: &mut Lines,
    writer: &Mutex<Writer>,
    peer: &Peer,
    limits: impl Fn() -> Limits,
) -> Result<Tally, ControlError> {
    let from = lines.peer;
    let believed = |excess: Option<String>| match excess {
        Some(what) => Err(ControlError::Implausible { peer: from, what }),
        None => Ok(()),
    };
    // Its tally may be the next word as soon as the load has ended.
    let awaited = "its report of what arrived";
    let mut ended = None;
    loop {
        match lines.next(LOST_AFTER, awaited)? {
            FromSink::Seen { delivered } => {
                believed(limits().excess_delivered(delivered))?;
                peer.delivered.store(delivered, Relaxed);
                // A sink that has closed says nothing more, which the next read finds out.
                let _ = writer.lock().say(&FromSender::Alive);
            }
            FromSink::Tally(tally) if peer.ended.load(Relaxed) => {
                believed(tally.excess(&limits()))?;
                peer.delivered.store(tally.read.delivered, Relaxed);
                return Ok(tally);
            }
            other => return Err(out_of_turn(lines, awaited, &other)),
        }
        if ended.is_none() && peer.ended.load(Relaxed) {
            ended = Some(Instant::now());
        }
        // It may live and still never come to its end.
        let within: Duration = DRAIN_MOST + ANSWER_WITHIN;
        if ended.is_some_and(|at| at.elapsed() > within) {
            return Err(ControlError::Silent { peer: lines.peer, awaited: "its tally", within });
        }
    }
}

fn harmless(why: Why) -> Why {
    match why {
        Why::Limit { text } => Why::Limit { text: printable(&text) },
        other => other,
    }
}

fn out_of_turn(lines: &Lines, awaited: &'static str, word: &FromSink) -> ControlError {
    let name = match word {
        FromSink::Welcome(_) => "a welcome",
        FromSink::Refused { .. } => "a refusal",
        FromSink::Ready => "`ready`",
        FromSink::Seen { .. } => "a sign of life",
        FromSink::Tally(_) => "a final tally",
    };
    lines.garbage(awaited, format!("{name} came"))
}
