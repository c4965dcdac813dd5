//! One trial of one cell: two ends, each in a thread on its processor.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use netfathom_bpf::message::KernelEnd;
use netfathom_model::layer::Side;
use netfathom_model::plan::{Carrier, MessagePlan, MessageTest, Placement};
use netfathom_model::record::{Contention, EndCost, LoadThread, ProcessorPair, Shares};
use netfathom_sys::cpu::{self, KernelWorkers};

use super::calls::{Called, Watched};
use super::costs::Meter;
use super::end::{self, End, MessageLoad};
use super::error::{EndError, MessageError};
use super::far::Far;
use super::far::protocol::{ControlMessage, HostCounts, TrialReport};
use super::ground::{Connection, Ground, Socket, counts};
use super::meeting::{MADE, METERED, Meeting};
use super::order::Cell;
use super::task::{Done, Task};
use super::{Around, calls, driver, kernel, oneway, pingpong, post};

/// What a trial may take beyond its time before its connection is cut,
const OVERRUN: Duration = Duration::from_secs(5);
/// and over a path with a rate, until this has passed it: more than the buffers of both sockets hold (tcp_wmem, tcp_rmem).
const BUFFERED_BYTES: f64 = 16e6;
/// A path to another host may have this rate.
const SLOW_BITS_PER_S: u64 = 10_000_000;
/// How often is looked whether the user wants an end.
const LOOK: Duration = Duration::from_millis(100);

pub struct Shot {
    pub client: Done,
    pub server: Done,
    pub client_cost: EndCost,
    pub server_cost: EndCost,
    /// What the kernels counted of TCP, and what their workers ran meanwhile.
    pub counts: HostCounts,
    /// System calls of the two ends, or why they were not counted.
    pub calls: Result<Called, String>,
    /// Who had the processors of the ends, where that was observed.
    pub contention: Vec<Contention>,
}

/// Makes a trial; `None` where the user ended it.
pub fn make(
    plan: &MessagePlan,
    cell: &Cell,
    pair: ProcessorPair,
    Around { ground, stop }: Around<'_>,
    watched: Option<Watched<'_>>,
) -> Result<Option<Shot>, MessageError> {
    let begin = Instant::now();
    let (connection, posts) = ground.connect(plan, cell, watched.is_some())?;
    let task = &Task::new(plan, kernel::room(plan.test, cell), pair.shares == Shares::Same, stop);
    let meeting = Meeting::default();
    let (before, workers) = (ground.tcp_counts(), KernelWorkers::read().ok());
    let calls_before = watched.map(|watched| watched.calls.counts());
    let place = |side, cpu| EndThread {
        side,
        cpu,
        socket: connection.end(side),
        posts: posts.as_ref().map(|posts| posts.end(side)),
        ground,
        cell,
        task,
        meeting: &meeting,
        watched,
    };
    let places = [place(Side::Client, pair.client), place(Side::Server, pair.server)];
    let [client_end, server_end] = thread::scope(|scope| {
        let (ended, ends) = channel();
        let [a, b] = places.map(|place| start(scope, place, ended.clone()));
        drop(ended);
        if a.is_err() || b.is_err() {
            meeting.leave();
        }
        watch(&ends, longest(plan, ground), stop, || {
            [&connection].into_iter().chain(&posts).for_each(Connection::cut);
        });
        let join = |thread: ScopedJoinHandle<'_, EndResult>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        // A missing thread is reported before its effect on the other end.
        let (a, b) = (a.map(join), b.map(join));
        Ok::<_, MessageError>([a.map_err(MessageError::Thread)?, b.map_err(MessageError::Thread)?])
    })?;
    if stop.load(Relaxed) {
        return Ok(None);
    }
    // Why the other host ended is known there.
    let first = ground.far().map(|far| far.side).filter(|_| client_end.is_err() && server_end.is_err());
    let (client_end, server_end) = match first.or(meeting.broke()) {
        Some(Side::Server) => {
            let server_end = server_end?;
            (client_end?, server_end)
        }
        _ => (client_end?, server_end?),
    };
    let (Some(client_end), Some(server_end)) = (client_end, server_end) else { return Ok(None) };
    let contention = [client_end.contention, server_end.contention].into_iter().flatten().collect();
    let tcp = before.zip(ground.tcp_counts()).map(|(then, now)| counts(now.since(&then)));
    let workers = workers.zip(KernelWorkers::read().ok());
    let kernel_workers_ns = workers.map(|(then, now)| now.since(&then).ran_ns);
    let since = |(watched, then): (Watched<'_>, _)| calls::since(&watched.calls.counts(), &then);
    let mut calls: Result<Called, String> =
        watched.zip(calls_before).map(since).ok_or_else(|| "they were not counted".into());
    if let (Some(far), Some(outcome)) = (ground.elsewhere(Side::Server), &server_end.elsewhere) {
        far.believes(plan, client_end.done.messages, begin.elapsed(), outcome)?;
    }
    let mut counts = HostCounts { tcp, kernel_workers_ns };
    for (end, elsewhere) in [client_end.elsewhere, server_end.elsewhere].into_iter().enumerate() {
        let Some(outcome) = elsewhere else { continue };
        counts = counts.plus(outcome.counts);
        if let Ok(calls) = &mut calls {
            calls[end] = outcome.calls;
        }
        calls = outcome.uncounted.map_or(calls, Err);
    }
    Ok(Some(Shot {
        client: client_end.done,
        server: server_end.done,
        client_cost: client_end.cost,
        server_cost: server_end.cost,
        counts,
        calls,
        contention,
    }))
}

/// How long a trial may take before its connection is cut.
fn longest(plan: &MessagePlan, ground: &Ground) -> Duration {
    let rate = match ground.far() {
        Some(_) => Some(SLOW_BITS_PER_S),
        None => plan.path.as_ref().and_then(|path| path.rate_bits_per_s),
    };
    let passing = rate.map_or(0.0, |bits| 8.0 * BUFFERED_BYTES / bits as f64);
    Duration::from_nanos(plan.most_ns) + OVERRUN + Duration::from_secs_f64(passing)
}

/// Waits until both ends have ended; cuts their connection when it takes too long, or the user wants
/// an end and they do not come to it by themselves.
fn watch(ends: &std::sync::mpsc::Receiver<()>, most: Duration, stop: &AtomicBool, cut: impl Fn()) {
    let begin = Instant::now();
    let mut stopped = 0;
    loop {
        match ends.recv_timeout(LOOK) {
            Ok(()) => {}
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                stopped += u32::from(stop.load(Relaxed));
                if begin.elapsed() > most || stopped > 3 {
                    cut();
                }
            }
        }
    }
}

struct EndThread<'a> {
    side: Side,
    cpu: usize,
    socket: &'a Socket,
    /// The connection for posts, where the layer has that apart.
    posts: Option<&'a Socket>,
    ground: &'a Ground,
    cell: &'a Cell,
    task: &'a Task<'a>,
    meeting: &'a Meeting,
    watched: Option<Watched<'a>>,
}

/// What an end did, and took.
struct Ended {
    done: Done,
    cost: EndCost,
    contention: Option<Contention>,
    /// What was counted on its host, where that is another one.
    elsewhere: Option<TrialReport>,
}

type EndResult = Result<Option<Ended>, MessageError>;

fn start<'s, 'e: 's>(
    scope: &'s Scope<'s, 'e>,
    place: EndThread<'e>,
    ended: Sender<()>,
) -> io::Result<ScopedJoinHandle<'s, EndResult>> {
    let name = place.side.name().to_owned();
    thread::Builder::new().name(name).spawn_scoped(scope, move || {
        let mut leaving = Leaving { place: &place, ended, well: false };
        let outcome = place.run();
        leaving.well = outcome.is_ok();
        outcome
    })
}

/// Tells the other end that this one is no longer there, however it left.
struct Leaving<'a> {
    place: &'a EndThread<'a>,
    ended: Sender<()>,
    well: bool,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let EndThread { meeting, task, socket, posts, side, .. } = self.place;
        meeting.leave();
        task.finish(*side);
        if !self.well {
            meeting.break_off(*side);
            posts.iter().chain([socket]).for_each(|socket| socket.cut());
        }
        // The receiver may be gone if the other end could not even start.
        let _ = self.ended.send(());
    }
}

fn thread(side: Side) -> LoadThread {
    match side {
        Side::Client => LoadThread::Client,
        Side::Server => LoadThread::Server,
    }
}

impl EndThread<'_> {
    fn run(&self) -> EndResult {
        match self.ground.elsewhere(self.side) {
            Some(far) => self.elsewhere(far),
            None => self.here(),
        }
    }

    fn elsewhere(&self, far: &Far) -> EndResult {
        let outcome = far.stand_in(self.meeting, self.task, longest(self.task.plan, self.ground))?;
        Ok(outcome.map(|outcome| Ended {
            done: outcome.done(),
            cost: outcome.cost,
            contention: None,
            // A client's host adds what it counted itself.
            elsewhere: (self.side == Side::Server).then_some(outcome),
        }))
    }

    fn here(&self) -> EndResult {
        cpu::pin(self.cpu)?;
        let failed = |what| {
            move |source| MessageError::End { layer: self.cell.layer.clone(), end: self.side, what, source }
        };
        let mut end = self.make().map_err(failed("could not be made"))?;
        let kernel = self.attach().map_err(failed("cannot be in the kernel"))?;
        let takes_frames = driver::takes_frames(self.task.plan.test, self.side, self.cell);
        let _taken = takes_frames
            .then(|| driver::have_taken(self.ground, self.side))
            .transpose()
            .map_err(failed("cannot take frames from the driver"))?;
        if !self.meeting.wait(MADE) {
            return Ok(None);
        }
        if let Some(kernel) = kernel {
            if !self.meeting.wait(METERED) {
                return Ok(None);
            }
            let done = kernel::run(kernel, &mut *end, self.side, self.cell, self.task);
            let done = done.map_err(failed("broke off"))?;
            return Ok(Some(Ended { done, cost: EndCost::default(), contention: None, elsewhere: None }));
        }
        let meter = Meter::start(&*end, self.socket);
        let followed = self.watched.map(|w| calls::Followed::begin(w.calls, &*end, self.side));
        let observed = self.watched.and_then(|w| w.contention).and_then(|c| c.observe(self.cpu));
        if !self.meeting.wait(METERED) {
            return Ok(None);
        }
        let done = self.work(&mut *end).map_err(failed("broke off"))?;
        drop(followed);
        let contention = observed.and_then(|observed| observed.account(thread(self.side)));
        let mut cost = meter.stop();
        cost.cpu_ns = cost.cpu_ns.and_then(|ns| ns.checked_sub(done.waiting_ns));
        self.task.finish(self.side);
        // Behind its messages, the end of the stream: on another host nothing else shows the server that it has all.
        let server_elsewhere = self.ground.elsewhere(Side::Server);
        if let Some(far) = server_elsewhere {
            self.close(&mut *end).map_err(failed("could not close"))?;
            far.say(&ControlMessage::Finished)?;
        }
        if self.side == Side::Client {
            // What lies in its buffer has gone then.
            self.task.await_finished(Side::Server);
        }
        cost.segments = meter.segments();
        if server_elsewhere.is_none() {
            self.close(&mut *end).map_err(failed("could not close"))?;
        }
        Ok(Some(Ended { done, cost, contention, elsewhere: None }))
    }

    /// Gives the socket to the kernel, or its flow to the driver, where this end is to be there. A client that
    /// sends one way is not: what is nearest to it is a call of user space.
    fn attach(&self) -> Result<Option<KernelEnd>, EndError> {
        let (test, placement) = (self.task.plan.test, self.cell.placement);
        let in_kernel = match self.side {
            Side::Client => placement.kernel_client() && test != MessageTest::Oneway,
            Side::Server => placement.kernel_server(),
        };
        let attach = || match driver::has(&self.cell.layer) {
            true => driver::attach(self.ground, test, self.side, self.socket),
            false => kernel::attach(test, self.side, self.cell, self.socket),
        };
        in_kernel.then(attach).transpose()
    }

    fn peer_in_kernel(&self) -> bool {
        match self.side {
            Side::Client => self.cell.placement.kernel_server(),
            Side::Server => {
                self.cell.placement == Placement::KU && self.task.plan.test != MessageTest::Oneway
            }
        }
    }

    fn make(&self) -> Result<Box<dyn End>, EndError> {
        let bytes = self.cell.bytes as usize;
        let load = match self.task.plan.test {
            MessageTest::Post => {
                let grown = self.cell.placement.kernel_server();
                MessageLoad { message_bytes: post::REQUEST_BYTES, bulk_bytes: bytes, grown, into_sink: false }
            }
            test => {
                let into_sink = test == MessageTest::Oneway && self.cell.placement.kernel_server();
                MessageLoad { message_bytes: bytes, bulk_bytes: 0, grown: false, into_sink }
            }
        };
        if self.side == Side::Client && driver::writes_frames(self.task.plan.test, self.cell) {
            return Ok(Box::new(driver::frames(self.ground, self.socket, load)?));
        }
        let posts = self.posts.map(Socket::again).transpose()?;
        end::make(&self.cell.layer, self.side, self.socket.again()?, posts, load)
    }

    fn work(&self, end: &mut dyn End) -> Result<Done, EndError> {
        let test = self.task.plan.test;
        let answer = if test == MessageTest::Post { post::answer } else { pingpong::answer };
        match (test, self.side) {
            (MessageTest::Oneway, Side::Client) => oneway::client(end, self.task),
            (MessageTest::Oneway, Side::Server) => {
                let done = oneway::server(end, self.task)?;
                // Which messages were lost is unknown, so a time cannot be assigned to a message.
                let times =
                    if driver::writes_frames(test, self.cell) { Done::nothing().times } else { done.times };
                Ok(Done { times, ..done })
            }
            (MessageTest::Pingpong, Side::Client) => pingpong::client(end, self.task),
            (MessageTest::Post, Side::Client) => post::client(end, self.task),
            (_, Side::Server) if self.cell.placement == Placement::KU => {
                pingpong::count(end, self.task, answer)
            }
            (_, Side::Server) => pingpong::serve(end, self.task, answer),
        }
    }

    /// The client closes once the server has read its meters, and the server when it sees that.
    fn close(&self, end: &mut dyn End) -> Result<(), EndError> {
        if self.peer_in_kernel() {
            // It understands no close.
            return Ok(());
        }
        match self.side {
            Side::Client => end.finish(),
            Side::Server => {
                // Over UDP nothing shows an end, and the client does not wait for it.
                let is_stream = self.task.plan.carrier != Carrier::Udp;
                while is_stream && end.receive()? > 0 {}
                end.finish()
            }
        }
    }
}
