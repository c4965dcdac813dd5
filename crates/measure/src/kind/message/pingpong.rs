//! The server sends each message back; the next one leaves when it is there.

use netfathom_stats::Distribution;
use netfathom_sys::clock::monotonic_ns;

use super::end::End;
use super::error::EndError;
use super::pace::Pace;
use super::task::{Done, GRAIN, Next, Task};

/// Sends and waits until there were enough round trips, or time is over. With a rate a message
/// leaves when it is to, and the answer to the last one is there: its time counts from when it was
/// to leave, and from when it left beside it.
pub fn client(end: &mut dyn End, task: &Task<'_>) -> Result<Done, EndError> {
    let mut pace = Pace::new(task);
    let mut done = Done::nothing();
    done.service = task.plan.rate_per_s.map(|_| Distribution::new(GRAIN));
    let mut next = Next::Go;
    while next == Next::Go {
        let (intended_ns, now) = pace.wait(done.messages);
        let first_ns = *done.first_ns.get_or_insert(now);
        next = task.next(done.messages, now - first_ns);
        if next != Next::Go {
            task.announce(done.messages + 1);
        }
        end.send()?;
        end.flush()?;
        done.messages += 1;
        if end.receive()? == 0 {
            done.has_lost(task)?;
            continue;
        }
        let arrived_ns = monotonic_ns();
        done.times.add(arrived_ns as i64 - intended_ns as i64);
        if let Some(service) = &mut done.service {
            service.add(arrived_ns as i64 - now as i64);
        }
        done.timed += 1;
        done.last_ns = arrived_ns;
    }
    done.cut_short = next == Next::CutShort;
    (done.lag, done.waiting_ns) = (pace.lag, pace.waiting_ns);
    Ok(done)
}

/// Sends back as many as came.
pub fn answer(end: &mut dyn End, came: u64) -> Result<(), EndError> {
    for _ in 0..came {
        end.send()?;
    }
    end.flush()
}

/// The server counts, for the client is in the kernel: a round trip is the time from one message to the next. Answers
/// what comes, until there is enough of it.
pub fn count(
    end: &mut dyn End,
    task: &Task<'_>,
    answer: fn(&mut dyn End, u64) -> Result<(), EndError>,
) -> Result<Done, EndError> {
    let mut done = Done::nothing();
    let mut next = Next::Go;
    while next == Next::Go {
        if end.receive()? == 0 {
            done.has_lost(task)?;
            // What comes next is the answer to this.
            done.last_ns = monotonic_ns();
            answer(end, 1)?;
            continue;
        }
        next = done.arrived(task);
        if next == Next::Go {
            answer(end, 1)?;
        }
    }
    done.cut_short = next == Next::CutShort;
    Ok(done)
}

/// Answers as many as came, until all have come that the client sends.
pub fn serve(
    end: &mut dyn End,
    task: &Task<'_>,
    answer: fn(&mut dyn End, u64) -> Result<(), EndError>,
) -> Result<Done, EndError> {
    let mut done = Done::nothing();
    while !task.is_all(done.messages) {
        let came = task.receive(end)?;
        if came == 0 {
            break;
        }
        answer(end, came)?;
        done.messages += came;
    }
    end.drain()?;
    Ok(done)
}
