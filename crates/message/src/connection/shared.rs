//! What all clones of a connection, and its own thread, share.

use std::{
    collections::VecDeque,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};

use super::{role::Receiving, wakers::Wakers};
use crate::{
    Config, Error,
    protocol::{Batch, Outgoing, PostEnd, PostId},
    strategy::Strategy,
    transport::Transport,
};

/// Is called with the result of a post.
pub type PostCallback = Box<dyn FnOnce(Result<PostEnd, Error>) + Send>;

pub(crate) struct Shared {
    pub transport: Box<dyn Transport>,
    pub config: Config,
    pub sending: Mutex<Sending>,
    /// Wakes the connection's thread; with `sending`.
    pub mover: Condvar,
    /// A write is done; with `sending`.
    pub room: Condvar,
    pub receiving: Mutex<Receiving>,
    /// The receiving role is free, or something changed; with `receiving`.
    pub turn: Condvar,
    /// Threads that wait for `turn`.
    pub waiters: AtomicUsize,
    /// Buffers for posts wait to be taken up by whoever receives.
    pub offers: AtomicBool,
    pub peer_closed: AtomicBool,
    pub over: AtomicBool,
    failure: OnceLock<Error>,
    pub reads: AtomicU64,
    pub frames: AtomicU64,
    pub inside_frame: AtomicBool,
    /// Tasks that wait for something to come.
    pub arrivals: Wakers,
    /// Tasks that wait for room, credit or the end of a post.
    pub departures: Wakers,
}

pub(crate) struct Sending {
    pub out: Outgoing,
    pub strategy: Box<dyn Strategy>,
    pub one_by_one: bool,
    /// Somebody writes a batch, without the lock.
    pub writing: bool,
    /// The rest of a batch, which the socket did not take.
    pub held: Option<Batch>,
    /// When what is staged is to be written by the connection's thread.
    pub deadline: Option<Instant>,
    /// How soon the next deadline is expected, if one was set since the connection's thread looked.
    pub linger: Option<Duration>,
    /// The connection's thread sleeps for such a while only.
    pub lingers: bool,
    /// There is something for the connection's thread to write.
    pub work: bool,
    /// Until when the connection's thread sleeps, if it does.
    pub asleep: Option<Instant>,
    /// The thread that waited for the peer last, if nothing was sent since.
    pub waited: usize,
    /// Threads that wait for `room`.
    pub crowd: usize,
    pub stop: bool,
    pub bulk: bool,
    pub posts: VecDeque<(PostId, PostCallback)>,
    /// Memory for those of them that ended.
    pub done: Vec<(PostCallback, PostEnd)>,
}

impl Sending {
    pub fn in_flight(&self) -> bool {
        self.writing || self.held.is_some()
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = out.debug_struct("Connection");
        shown.field("transport", &self.transport).field("failure", &self.failure.get());
        shown.finish_non_exhaustive()
    }
}

impl Shared {
    pub fn new(transport: Box<dyn Transport>, config: Config, out: Outgoing, receiving: Receiving) -> Self {
        let strategy = config.strategy.make();
        let sending = Sending {
            out,
            one_by_one: strategy.one_by_one(),
            strategy,
            writing: false,
            held: None,
            deadline: None,
            linger: None,
            lingers: false,
            work: false,
            asleep: None,
            waited: 0,
            crowd: 0,
            stop: false,
            bulk: false,
            posts: VecDeque::new(),
            done: Vec::new(),
        };
        Self {
            transport,
            config,
            sending: Mutex::new(sending),
            mover: Condvar::new(),
            room: Condvar::new(),
            receiving: Mutex::new(receiving),
            turn: Condvar::new(),
            waiters: AtomicUsize::new(0),
            offers: AtomicBool::new(false),
            peer_closed: AtomicBool::new(false),
            over: AtomicBool::new(false),
            failure: OnceLock::new(),
            reads: AtomicU64::new(0),
            frames: AtomicU64::new(0),
            inside_frame: AtomicBool::new(false),
            arrivals: Wakers::default(),
            departures: Wakers::default(),
        }
    }

    pub fn failure(&self) -> Option<Error> {
        self.failure.get().cloned()
    }

    /// # Errors
    /// Why the connection is over, if it is.
    #[inline]
    pub fn alive(&self) -> Result<(), Error> {
        if self.over.load(Ordering::Relaxed) { Err(self.failure().unwrap_or(Error::Ended)) } else { Ok(()) }
    }

    /// Ends the connection for this reason, unless it has ended for another already; gives the one
    /// that counts.
    pub fn fail(&self, error: Error) -> Error {
        if let Error::Protocol(breach) = &error {
            self.tell(breach.code());
        }
        let error = self.failure.get_or_init(|| error).clone();
        self.over.store(true, Ordering::SeqCst);
        self.transport.shutdown();
        let mut sending = self.sending.lock();
        let posts = std::mem::take(&mut sending.posts);
        self.mover.notify_all();
        self.room.notify_all();
        drop(sending);
        for (_, done) in posts {
            done(Err(error.clone()));
        }
        self.changed();
        error
    }

    /// Tells the peer why the connection ends, if that goes without waiting and no frame is cut.
    fn tell(&self, code: u32) {
        let mut sending = self.sending.lock();
        let cut = sending.held.as_ref().is_some_and(|batch| !batch.untouched());
        if sending.writing || cut || self.over.load(Ordering::SeqCst) {
            return;
        }
        sending.held = None;
        sending.out.abort(code);
        let batch = sending.out.take_staged();
        // The connection ends in any case.
        let _ = self.transport.send(&batch.parts());
    }

    pub fn abort(&self, code: u32) {
        self.tell(code);
        self.fail(Error::Ended);
    }

    /// The last handle is gone: what is staged is written if it goes at once.
    pub fn dropped(&self) {
        if !self.over.load(Ordering::SeqCst) {
            self.last_words();
        }
        self.sending.lock().stop = true;
        self.fail(Error::Ended);
    }

    /// Wakes whoever waits for anything.
    pub fn changed(&self) {
        if self.waiters.load(Ordering::SeqCst) > 0 {
            let mut receiving = self.receiving.lock();
            receiving.turn += 1;
            self.turn.notify_all();
        }
        self.arrivals.wake();
        self.departures.wake();
    }
}
