//! The client sends, the server reads.

use super::end::End;
use super::error::EndError;
use super::pace::Pace;
use super::task::{Done, Next, Task};

/// Sends until there were enough, or time is over.
pub fn client(end: &mut dyn End, task: &Task<'_>) -> Result<Done, EndError> {
    let mut pace = Pace::new(task.plan.rate_per_s, task.shared_processor);
    let mut done = Done::nothing();
    let (every, mut sampled) = (task.samples.every(), 0);
    let mut next = Next::Go;
    while next == Next::Go {
        if done.messages >= sampled {
            let (intended_ns, now) = pace.wait(done.messages);
            if done.first_ns == 0 {
                done.first_ns = now;
            }
            task.samples.departs(done.messages, intended_ns);
            sampled += every;
            next = task.next(done.messages, now - done.first_ns);
            if next != Next::Go {
                task.announce(done.messages + end.burst());
            }
        }
        done.messages += end.send()?;
        if pace.lag.is_some() {
            end.flush()?;
        }
    }
    done.cut_short = next == Next::CutShort;
    done.lag = pace.lag;
    end.drain()?;
    Ok(done)
}

/// Reads until all of it is there, or the client has finished.
pub fn server(end: &mut dyn End, task: &Task<'_>) -> Result<Done, EndError> {
    let mut done = Done::nothing();
    let (every, mut sampled) = (task.samples.every(), 0);
    while !task.is_all(done.messages) {
        let came = end.receive()?;
        if came == 0 {
            break;
        }
        done.messages += came;
        if done.messages <= sampled {
            continue;
        }
        let now = netfathom_sys::clock::monotonic_ns();
        while sampled < done.messages {
            if let Some(departed_ns) = task.samples.departed_ns(sampled) {
                done.times.add(now as i64 - departed_ns as i64);
            }
            sampled += every;
        }
        (done.last_ns, done.timed) = (now, done.messages);
    }
    Ok(done)
}
