//! What a run saw in its last second: the difference of two of its states.

use std::collections::BTreeMap;

use netfathom_model::path::Direction;
use netfathom_model::record::{
    CpuWaits, Distribution, SlowMessage, SocketWay, WatchResult, WatchSlow, WatchSocket, WatchTimes,
    WatchedProcess, WatchedStage, WatchedSum,
};

/// About a second, or what was followed of it: the run's look at its sums is that far apart from the one before.
#[derive(Clone, Debug, Default)]
pub struct Second {
    /// Since the run began.
    pub at_ns: u64,
    pub length_ns: u64,
    /// All sockets together.
    pub all: WatchSocket,
    pub sockets: Vec<WatchSocket>,
    /// Those without a place of their own.
    pub others: WatchSocket,
    /// Of the reading threads; `None` if what comes in is not watched.
    pub waits: Option<CpuWaits>,
    pub waits_so_far: CpuWaits,
    /// `None` where the kernel does not show it.
    pub application: Option<WatchTimes>,
    /// `None` where the kernel does not show it.
    pub answer: Option<WatchTimes>,
    /// Those that were kept.
    pub slow: Vec<SlowMessage>,
    /// How many messages were slow since the run began; `None` if that was not asked for.
    pub slow_so_far: Option<u64>,
    /// How many answers were.
    pub slow_answers_so_far: u64,
}

/// Makes seconds of the states of a run.
#[derive(Debug, Default)]
pub struct Seconds {
    last: Option<State>,
}

#[derive(Debug, Default)]
struct State {
    at_ns: u64,
    followed_ns: u64,
    all: WatchSocket,
    sockets: BTreeMap<u64, WatchSocket>,
    others: WatchSocket,
    waits: Option<CpuWaits>,
    application: Option<WatchTimes>,
    answer: Option<WatchTimes>,
    slow_kept: u64,
}

impl Seconds {
    /// `None` of the first state: what came before it is a part of the first second.
    pub fn next(&mut self, so_far: &WatchResult) -> Option<Second> {
        let last = self.last.replace(State::default())?;
        let sockets = so_far.sockets.iter().map(|socket| (socket.id, socket.clone())).collect();
        let others = so_far.other_sockets.clone().unwrap_or_default();
        let slow = so_far.slow.as_ref();
        let slow_kept = slow.map_or(0, |slow| slow.kept);
        let (at_ns, followed_ns) = (so_far.watched_ns, so_far.followed_ns());
        let [application, answer] =
            [&so_far.application, &so_far.answer].map(|times| times.as_ref().map(WatchTimes::from));
        let waits = so_far.plan.watches(Direction::Rx).then(|| so_far.waits.clone());
        let all = all(so_far);
        let state = State { at_ns, followed_ns, all, sockets, others, waits, application, answer, slow_kept };
        let second = Second {
            slow: slow.map_or_else(Vec::new, |slow| slow.after(last.slow_kept).to_vec()),
            slow_so_far: slow.map(WatchSlow::seen_messages),
            slow_answers_so_far: slow.map_or(0, WatchSlow::seen_answers),
            ..state.since(&last)
        };
        self.last = Some(state);
        Some(second)
    }
}

impl State {
    fn since(&self, last: &Self) -> Second {
        let nothing = WatchSocket::default();
        let before = |socket: &WatchSocket| last.sockets.get(&socket.id).unwrap_or(&nothing);
        let mut sockets: Vec<WatchSocket> =
            self.sockets.values().map(|socket| socket.since(before(socket))).collect();
        // The sums of one that lost its place are among the others', but for what came in this second.
        let mut others_before = last.others.clone();
        let lost = last.sockets.iter().filter(|(id, _)| !self.sockets.contains_key(id));
        lost.for_each(|(_, socket)| others_before.add(socket));
        sockets.retain(|socket| has_times(&socket.receive) || has_times(&socket.send));
        sockets.sort_by_key(|socket| std::cmp::Reverse(socket.messages()));
        Second {
            at_ns: self.at_ns,
            length_ns: self.followed_ns.saturating_sub(last.followed_ns),
            all: self.all.since(&last.all),
            sockets,
            others: self.others.since(&others_before),
            waits: since(self.waits.as_ref(), last.waits.as_ref(), CpuWaits::since),
            waits_so_far: self.waits.clone().unwrap_or_default(),
            application: since(self.application.as_ref(), last.application.as_ref(), WatchTimes::since),
            answer: since(self.answer.as_ref(), last.answer.as_ref(), WatchTimes::since),
            ..Second::default()
        }
    }
}

/// A look may see the times of a message before it is counted: they are a part of the line all the same.
fn has_times(way: &SocketWay) -> bool {
    way.total.n > 0 || way.total.sum_ns != 0 || way.stages.iter().any(|sum| sum.sum_ns != 0)
}

/// Before the first that is known there was nothing.
fn since<T: Clone>(now: Option<&T>, before: Option<&T>, since: impl Fn(&T, &T) -> T) -> Option<T> {
    now.map(|now| before.map_or_else(|| now.clone(), |before| since(now, before)))
}

fn all(so_far: &WatchResult) -> WatchSocket {
    let send = so_far.send.as_ref();
    WatchSocket {
        process: so_far.reader.clone(),
        receive: way(&so_far.total, &so_far.stages),
        send: send.map(|send| way(&send.total, &send.stages)).unwrap_or_default(),
        ..WatchSocket::default()
    }
}

fn way(total: &Distribution, stages: &[WatchedStage]) -> SocketWay {
    let sum = |stage: &WatchedStage| WatchedSum { stage: stage.stage, sum_ns: stage.times.sum_ns };
    SocketWay { total: WatchTimes::from(total), stages: stages.iter().map(sum).collect() }
}

impl Second {
    pub fn per_second(&self, n: u64) -> f64 {
        n as f64 * 1e9 / self.length_ns.max(1) as f64
    }

    /// The sockets of each process together, those with the most messages first.
    pub fn processes(&self) -> Vec<WatchSocket> {
        let mut of: BTreeMap<u32, WatchSocket> = BTreeMap::new();
        for socket in &self.sockets {
            let process = of
                .entry(pid(socket))
                .or_insert_with(|| WatchSocket { process: socket.process.clone(), ..WatchSocket::default() });
            process.add(socket);
        }
        let mut all: Vec<WatchSocket> = of.into_values().collect();
        all.sort_by_key(|process| std::cmp::Reverse(process.messages()));
        all
    }
}

/// 0 of a process that is not known.
pub fn pid(socket: &WatchSocket) -> u32 {
    socket.process.as_ref().map_or(0, |process: &WatchedProcess| process.pid)
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::WatchStage;

    use super::*;

    fn socket(id: u64, n: u64) -> WatchSocket {
        let mut histogram = netfathom_stats::Histogram::new(3);
        histogram.add_many(100, n);
        let total = WatchTimes::new(&histogram, 100 * n as i64);
        WatchSocket { id, receive: SocketWay { total, stages: Vec::new() }, ..WatchSocket::default() }
    }

    /// A message may end while its sums are read: here its count comes a second later.
    #[test]
    fn seconds_add_up_to_the_run() {
        let sums = |n, sum_ns| {
            let mut of = socket(1, n);
            of.receive.total.sum_ns = sum_ns;
            of.receive.stages = vec![WatchedSum { stage: WatchStage::Read, sum_ns: 2 * sum_ns }];
            State { sockets: BTreeMap::from([(1, of.clone())]), all: of, ..State::default() }
        };
        let states = [State::default(), sums(2, 50), sums(2, 90), sums(3, 90)];
        let seconds: Vec<Second> = states.windows(2).map(|two| two[1].since(&two[0])).collect();
        let shown = |of: &WatchSocket| {
            (of.messages(), of.receive.total.sum_ns, of.receive.stages.iter().map(|s| s.sum_ns).sum::<i64>())
        };
        let add = |a: (u64, i64, i64), b: (u64, i64, i64)| (a.0 + b.0, a.1 + b.1, a.2 + b.2);
        let all = seconds.iter().map(|second| shown(&second.all)).reduce(add);
        let single = seconds.iter().flat_map(|second| &second.sockets).map(shown).reduce(add);
        assert_eq!([all, single], [Some((3, 90, 180)); 2]);
    }

    fn state(sockets: &[(u64, u64)], others: u64) -> State {
        let sockets = sockets.iter().map(|&(id, n)| (id, socket(id, n))).collect();
        let others = socket(0, others);
        State { sockets, others, ..State::default() }
    }

    #[test]
    fn times_beside_the_stages_are_of_the_second() {
        let times = |n| Some(socket(1, n).receive.total);
        let before = State { answer: times(3), ..State::default() };
        let after = State { answer: times(5), application: times(2), ..State::default() };
        let second = after.since(&before);
        let n = |times: Option<WatchTimes>| times.map(|times| times.n);
        assert_eq!((n(second.answer), n(second.application)), (Some(2), Some(2)));
    }

    #[test]
    fn a_socket_that_lost_its_place_is_no_burst_of_the_others() {
        let (before, after) = (state(&[(1, 500), (2, 10)], 40), state(&[(2, 15)], 543));
        let second = after.since(&before);
        let seen: Vec<(u64, u64)> = second.sockets.iter().map(|s| (s.id, s.messages())).collect();
        assert_eq!((seen, second.others.messages()), (vec![(2, 5)], 3));
    }
}
