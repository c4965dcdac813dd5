//! The client sends, the server reads.

use netfathom_sys::clock::monotonic_ns;

use super::end::End;
use super::error::EndError;
use super::pace::Pace;
use super::task::{Done, Next, Task};

/// Sends until there were enough, or time is over.
pub fn client(end: &mut dyn End, task: &Task<'_>) -> Result<Done, EndError> {
    let mut pace = Pace::new(task);
    let mut done = Done::nothing();
    let (every, mut sampled) = (task.samples.every, 0);
    let mut next = Next::Go;
    while next == Next::Go {
        let is_sampled = done.messages >= sampled;
        if is_sampled || pace.lag.is_some() {
            let (intended_ns, now) = pace.wait(done.messages);
            let first_ns = *done.first_ns.get_or_insert(now);
            if is_sampled {
                task.samples.departs(done.messages, intended_ns);
                sampled += every;
            }
            next = task.next(done.messages, now - first_ns);
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
    (done.lag, done.waiting_ns) = (pace.lag, pace.waiting_ns);
    end.drain()?;
    Ok(done)
}

/// Reads until all of it is there, or the client has finished.
pub fn server(end: &mut dyn End, task: &Task<'_>) -> Result<Done, EndError> {
    let mut done = Done::nothing();
    let (every, mut sampled) = (task.samples.every, 0);
    let mut numbered = true;
    while !task.is_all(done.messages) {
        let came = task.receive(end)?;
        if came == 0 {
            break;
        }
        done.messages += came;
        let index = end.index();
        numbered &= index.is_some();
        // The place of the last one that came: of a stream all before it are here.
        let last = index.unwrap_or(done.messages - 1);
        if last < sampled {
            continue;
        }
        let now = monotonic_ns();
        if done.first_ns.is_none() {
            (done.first_ns, done.first) = (Some(now), done.messages);
        }
        let mut arrived = |place| {
            if let Some(departed_ns) = task.samples.departed_ns(place) {
                done.times.add(now as i64 - departed_ns as i64);
            }
        };
        match index {
            Some(place) if place.is_multiple_of(every) => arrived(place),
            Some(_) => {}
            None => (sampled..=last).step_by(every as usize).for_each(arrived),
        }
        sampled = (last / every + 1) * every;
        (done.last_ns, done.timed) = (now, done.messages);
    }
    if !numbered && task.lacks(done.messages) {
        // Known by their places among those that came: after a gap it is another one's time.
        done.times = Done::nothing().times;
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use netfathom_model::layer::Side;
    use netfathom_model::plan::{MessagePlan, MessageTest, Place};

    use super::*;

    /// What comes to a server: the places of messages, or a silence.
    struct Script<'a> {
        places: Vec<Option<u64>>,
        numbered: bool,
        last: Option<u64>,
        task: &'a Task<'a>,
    }

    impl End for Script<'_> {
        fn send(&mut self) -> Result<u64, EndError> {
            unreachable!()
        }

        fn receive(&mut self) -> Result<u64, EndError> {
            if self.places.is_empty() {
                self.task.finish(Side::Client);
                self.last = None;
                return Ok(0);
            }
            self.last = self.places.remove(0);
            Ok(self.last.is_some().into())
        }

        fn index(&self) -> Option<u64> {
            self.last.filter(|_| self.numbered)
        }

        fn is_silent(&self) -> bool {
            self.last.is_none()
        }

        fn finish(&mut self) -> Result<(), EndError> {
            unreachable!()
        }
    }

    /// Ten messages, sent at intervals of a second.
    fn served(places: &[Option<u64>], numbered: bool) -> Done {
        let plan = MessagePlan { messages: 10, ..MessagePlan::paper(MessageTest::Oneway, Place::Loopback) };
        let stop = AtomicBool::new(false);
        let task = &Task::new(&plan, u64::MAX, true, &stop);
        let begin = monotonic_ns();
        (0..10).for_each(|n| task.samples.departs(n, begin + n * 1_000_000_000));
        task.announce(10);
        server(&mut Script { places: places.to_vec(), numbered, last: None, task }, task).unwrap()
    }

    #[test]
    fn a_time_is_that_of_its_own_message_though_others_were_lost() {
        let done = served(&[Some(0), Some(7), Some(6), Some(9)], true);
        assert_eq!((done.messages, done.timed, done.times.moments.n), (4, 4, 3));
        // Those that departed at 0, 7 and 9 seconds arrive now: the sum tells them apart.
        let seconds = -done.times.moments.sum / 1_000_000_000;
        assert!((15..=16).contains(&seconds), "{seconds}");
    }

    #[test]
    fn without_places_there_are_times_if_nothing_was_lost() {
        let all: Vec<_> = (0..10).map(Some).collect();
        assert_eq!(served(&all, false).times.moments.n, 10);
        assert_eq!(served(&all[..9], false).times.moments.n, 0);
    }

    #[test]
    fn silence_is_no_end_before_the_client_has_finished() {
        assert_eq!(served(&[Some(0), None, None, Some(1)], true).messages, 2);
    }
}
