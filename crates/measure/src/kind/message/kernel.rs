//! An end in the kernel: what user space has left to do is to begin, and to wait.

use std::num::NonZeroU32;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use netfathom_bpf::message::{EndReport, KernelEnd, Programs, Work};
use netfathom_model::layer::{Layer, Side};
use netfathom_model::plan::{Carrier, MessagePlan, MessageTest, Placement};
use netfathom_stats::{Distribution, Histogram, Moments, bucket_bounds};
use netfathom_sys::capability::{Capability, effective};
use netfathom_sys::clock::monotonic_ns;

use super::end::{End, HEADER_BYTES};
use super::error::EndError;
use super::ground::Socket;
use super::order::{Cell, Reason};
use super::post::REQUEST_BYTES;
use super::task::{Done, GRAIN, Next, Task};

/// Between two looks at how far it is: the kernel takes the times, so that nothing waits for them.
const NAP: Duration = Duration::from_millis(1);
/// Nothing came for so long after the last message was sent: what is missing is lost.
const SILENCE: Duration = Duration::from_millis(300);

/// Bytes that the library's end in front of a sink says it has room for: as much as it can.
pub const SINK_ROOM: u32 = 1 << 30;
/// Bytes of the library's longest header.
const MOST_HEADER: u64 = 8;
/// The client checks the number once per this many messages.
const MARGIN: u64 = 16;

/// Gives a connected socket to the kernel, before anything was sent.
pub fn attach(test: MessageTest, side: Side, cell: &Cell, socket: &Socket) -> Result<KernelEnd, EndError> {
    let (work, comes) = work(test, side, cell.bytes);
    Ok(Programs::load(work, comes)?.attach(socket.as_fd())?)
}

/// What it does with messages of this test, and how long those are that come to it.
fn work(test: MessageTest, side: Side, bytes: u64) -> (Work, NonZeroU32) {
    // The library's messages have a header of four bytes too, as long as they are short.
    let framed = |body: usize| u32::try_from(body + HEADER_BYTES).unwrap_or(u32::MAX);
    let (body, request) = (positive(framed(bytes as usize)), positive(framed(REQUEST_BYTES)));
    match (test, side) {
        (MessageTest::Oneway, _) => (Work::Sink, body),
        (MessageTest::Pingpong, _) => (Work::Echo { until: None }, body),
        (MessageTest::Post, Side::Client) => (Work::Ask { bytes: request, until: None }, body),
        (MessageTest::Post, Side::Server) => (Work::Reply { bytes: body }, request),
    }
}

fn positive(bytes: u32) -> NonZeroU32 {
    NonZeroU32::new(bytes).unwrap_or(NonZeroU32::MIN)
}

/// What an end in the kernel does, and what it saw.
pub fn run(
    kernel: KernelEnd,
    end: &mut dyn End,
    side: Side,
    cell: &Cell,
    task: &Task<'_>,
) -> Result<Done, EndError> {
    let done = match (side, cell.placement.kernel_server()) {
        (Side::Server, _) => serve(&kernel, task),
        (Side::Client, false) => begin(end, task)?,
        (Side::Client, true) => bounce(&kernel, end, task)?,
    };
    kernel.stop();
    let report = kernel.detach()?;
    if report.refused > 0 {
        let text = format!("the kernel would not send {} packets back", report.refused);
        return Err(EndError::Unexpected(text));
    }
    let mut result = from_report(&report, done);
    if task.plan.test == MessageTest::Oneway {
        // What lies between arrivals is no time of a message.
        (result.timed, result.times) = (report.messages, Distribution::new(GRAIN));
    }
    Ok(result)
}

/// The server in the kernel: until the client has finished, and what it sent is there.
fn serve(kernel: &KernelEnd, task: &Task<'_>) -> Done {
    task.await_finished(Side::Client);
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
    task.await_finished(Side::Server);
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
        } else if task.plan.carrier == Carrier::Udp && since.elapsed() > SILENCE {
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

fn from_report(report: &EndReport, waited: Done) -> Done {
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

/// How many messages there may be: the library sends no more than the other end has granted, and a sink
/// grants only once.
pub fn room(test: MessageTest, cell: &Cell) -> u64 {
    let sink = test == MessageTest::Oneway && cell.placement.kernel_server();
    match cell.layer {
        Layer::Library { .. } if sink => u64::from(SINK_ROOM) / (cell.bytes + MOST_HEADER) - MARGIN,
        _ => u64::MAX,
    }
}

/// What the kernel says to ends of its own, if they are asked for and it refuses them.
pub fn refusal(plan: &MessagePlan) -> Option<String> {
    if plan.placements.iter().all(|&p| p == Placement::UU) {
        return None;
    }
    Programs::load(Work::Sink, NonZeroU32::MIN).err().map(|error| format!("{error}{}", want_of_privilege()))
}

/// What to do where this process may not have ends in the kernel; nothing where it may.
pub fn want_of_privilege() -> &'static str {
    let held = effective().unwrap_or_default();
    let has = |of| held.contains(&of);
    let bpf = has(Capability::SysAdmin) || has(Capability::Bpf) && has(Capability::Perfmon);
    if bpf && has(Capability::NetAdmin) {
        return "";
    }
    "; an end in the kernel needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN"
}

/// Why the kernel can be no end of such messages; `None` where it can.
pub fn why_not(plan: &MessagePlan, placement: Placement, layer: &Layer, bytes: u64) -> Option<Reason> {
    let reason = match layer {
        Layer::Bare { .. } => return fits(plan, placement, bytes),
        Layer::Library { .. } if plan.test == MessageTest::Post => (
            "the library announces buffers before a post, which no program of the kernel understands",
            "write: the same bytes without the library",
        ),
        Layer::Library { .. } if placement == Placement::KK => (
            "the library runs in user space, and both ends are in the kernel",
            "write: a message of the library has as many bytes",
        ),
        Layer::Library { .. } => return None,
    };
    Some(reason.into())
}

fn fits(plan: &MessagePlan, placement: Placement, bytes: u64) -> Option<Reason> {
    let ends = [(Side::Client, placement.kernel_client()), (Side::Server, placement.kernel_server())];
    let unfit = |&(side, _): &(Side, bool)| {
        let (work, comes) = work(plan.test, side, bytes);
        work.check(comes.get(), plan.carrier == Carrier::Udp).err()
    };
    let error = ends.iter().filter(|(_, in_kernel)| *in_kernel).find_map(unfit)?;
    Some(Reason { why: error.to_string(), nearest: "the other sizes" })
}
