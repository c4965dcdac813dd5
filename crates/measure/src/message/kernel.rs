//! An end in the kernel: what user space has left to do is to begin, and to wait.

use std::num::NonZeroU32;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use netfathom_bpf::message::{EndReport, KernelEnd, Programs, Work};
use netfathom_model::layer::{End as Whose, Layer};
use netfathom_model::plan::MessageTest;
use netfathom_stats::{Distribution, Histogram, Moments, bucket_bounds};
use netfathom_sys::clock::monotonic_ns;

use super::end::{End, HEADER_BYTES};
use super::error::EndError;
use super::ground::Socket;
use super::order::Cell;
use super::post::REQUEST_BYTES;
use super::task::{Done, GRAIN, Next, Task};

/// Between two looks at how far it is: the kernel takes the times, so that nothing waits for them.
const NAP: Duration = Duration::from_millis(1);
/// Nothing came for so long after the last message was sent: what is missing is lost.
const SILENCE: Duration = Duration::from_millis(300);

/// Gives a connected socket to the kernel, before anything was sent.
pub fn attach(test: MessageTest, whose: Whose, cell: &Cell, socket: &Socket) -> Result<KernelEnd, EndError> {
    // The library's messages have a header of four bytes too, as long as they are short.
    let framed = |body: usize| u32::try_from(body + HEADER_BYTES).unwrap_or(u32::MAX);
    let (body, request) = (framed(cell.bytes as usize), framed(REQUEST_BYTES));
    let (work, comes) = match (test, whose) {
        (MessageTest::Oneway, _) => (Work::Sink, body),
        (MessageTest::Pingpong, _) => (Work::Echo { until: None }, body),
        (MessageTest::Post, Whose::Client) => (Work::Ask { bytes: positive(request), until: None }, body),
        (MessageTest::Post, Whose::Server) => (Work::Reply { bytes: positive(body) }, request),
    };
    Ok(Programs::load(work, positive(comes))?.attach(socket.as_fd())?)
}

fn positive(bytes: u32) -> NonZeroU32 {
    NonZeroU32::new(bytes).unwrap_or(NonZeroU32::MIN)
}

/// What an end in the kernel does, and what it saw.
pub fn run(
    kernel: KernelEnd,
    end: &mut dyn End,
    whose: Whose,
    cell: &Cell,
    task: &Task<'_>,
) -> Result<Done, EndError> {
    let done = match (whose, cell.placement.kernel_server()) {
        (Whose::Server, _) => serve(&kernel, task),
        (Whose::Client, false) => begin(end, task)?,
        (Whose::Client, true) => bounce(&kernel, end, task)?,
    };
    kernel.stop();
    let report = kernel.detach()?;
    if report.refused > 0 {
        let text = format!("the kernel would not send {} packets back", report.refused);
        return Err(EndError::Unexpected(text));
    }
    let mut told = told(&report, done);
    if task.plan.test == MessageTest::Oneway {
        // What lies between arrivals is no time of a message.
        (told.timed, told.times) = (report.messages, Distribution::new(GRAIN));
    }
    Ok(told)
}

/// The server in the kernel: until the client has finished, and what it sent is there.
fn serve(kernel: &KernelEnd, task: &Task<'_>) -> Done {
    task.await_finished(Whose::Client);
    let (mut seen, mut since) = (kernel.messages(), Instant::now());
    while !task.is_all(seen) && since.elapsed() < SILENCE {
        std::thread::sleep(NAP);
        let now = kernel.messages();
        if now > seen {
            (seen, since) = (now, Instant::now());
        }
    }
    Done::nothing()
}

/// The client in the kernel, the server in user space: the first message, and then it is the
/// server that counts.
fn begin(end: &mut dyn End, task: &Task<'_>) -> Result<Done, EndError> {
    end.send()?;
    end.flush()?;
    task.await_finished(Whose::Server);
    Ok(Done::nothing())
}

/// Both in the kernel: the first message, and then it goes to and fro by itself.
fn bounce(kernel: &KernelEnd, end: &mut dyn End, task: &Task<'_>) -> Result<Done, EndError> {
    let begin_ns = monotonic_ns();
    let mut done = Done::nothing();
    let (mut seen, mut since) = (0, Instant::now());
    end.send()?;
    end.flush()?;
    let mut next = Next::Go;
    while next == Next::Go {
        std::thread::sleep(NAP);
        let now = kernel.messages();
        if now > seen {
            (seen, since) = (now, Instant::now());
        } else if since.elapsed() > SILENCE {
            done.has_lost(task)?;
            end.send()?;
            since = Instant::now();
        }
        // The first message is no round trip, and what is asked is whether another one is the last.
        next = task.next(kernel.messages().saturating_sub(2), monotonic_ns() - begin_ns);
    }
    done.cut_short = next == Next::CutShort;
    Ok(done)
}

fn told(report: &EndReport, waited: Done) -> Done {
    Done {
        messages: report.messages,
        first_ns: report.first_message_ns,
        last_ns: report.last_message_ns.unwrap_or(0),
        timed: report.intervals.count(),
        times: distribution(&report.intervals, report),
        ..waited
    }
}

/// The kernel keeps a histogram and the first and last moment: number and sum are exact, extremes
/// and squares those of the buckets.
fn distribution(histogram: &Histogram, report: &EndReport) -> Distribution {
    let bounds = |index| bucket_bounds(index, histogram.grain());
    let middle = |index| {
        let (low, high) = bounds(index);
        i128::from(low + (high - low) / 2)
    };
    let n = histogram.count();
    let sum = report.mean_interval_ns().unwrap_or(0.0) * n as f64;
    let moments = Moments {
        n,
        sum: sum as i128,
        sum_sq: histogram
            .buckets()
            .map(|(i, count)| (middle(i) * middle(i)) as u128 * u128::from(count))
            .sum(),
        min: histogram.buckets().next().map_or(0, |(i, _)| bounds(i).0 as i64),
        max: histogram.buckets().last().map_or(0, |(i, _)| bounds(i).1 as i64),
    };
    Distribution { moments, histogram: histogram.clone() }
}

/// Why the kernel can be no end of such messages; `None` where it can.
pub fn why_not(test: MessageTest, layer: &Layer, both: bool) -> Option<(&'static str, &'static str)> {
    match layer {
        Layer::Bare { .. } => None,
        Layer::Library { .. } if test == MessageTest::Post => Some((
            "the library announces buffers before a post, which no program of the kernel understands",
            "write: the same bytes without the library",
        )),
        Layer::Library { .. } if both => Some((
            "the library runs in user space, and both ends are in the kernel",
            "write: a message of the library has as many bytes",
        )),
        Layer::Library { .. } => None,
        Layer::Peer { .. } => {
            Some(("it makes its own connections", "write: what the kernel does with messages as long"))
        }
    }
}
