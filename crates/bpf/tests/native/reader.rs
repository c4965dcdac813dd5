//! A thread is switched to and from at random, and some of these switches no program sees: what it has waited and slept
//! is right all the same.

use std::fmt::Write;

use super::printed;

/// Of the run queue's clock.
const BEGIN: u64 = 7_000_000_000_000;
/// How much slower it goes: 40 ns in a millisecond.
const DRIFT: u64 = 25_000;

/// xorshift64.
struct Random(u64);

impl Random {
    fn up_to(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.up_to(n) == 0
    }
}

/// A look at the thread: what is true at that moment.
#[derive(Clone, Copy)]
struct Truth {
    at: u64,
    waited: u64,
    slept: u64,
    /// It runs, and no program saw how it left its processor before.
    must_refuse: bool,
}

/// The kernel's side of one thread.
struct Kernel {
    random: Random,
    now: u64,
    queued: u64,
    waited: u64,
    arrival: u64,
    arrivals: u64,
    slept: u64,
    waited_truly: u64,
    blind: bool,
    /// One of this number of switches to the thread is seen by no program.
    hides_one_in: u64,
    hidden: u64,
    /// The kernel reads the run queue's clock long before it switches (RQCF_ACT_SKIP): what comes in between still finds
    /// the thread away.
    reads_early: bool,
    input: String,
    looks: Vec<Truth>,
}

impl Kernel {
    /// `met_late` after it had got its processor.
    fn new(seed: u64, met_late: u64) -> Self {
        let mut kernel = Self {
            random: Random(seed),
            now: 1_000_000_000,
            queued: 0,
            waited: 123_456,
            arrival: BEGIN,
            arrivals: 17,
            slept: 0,
            waited_truly: 0,
            blind: false,
            hides_one_in: 4,
            hidden: 0,
            reads_early: false,
            input: String::new(),
            looks: Vec::new(),
        };
        kernel.arrival = kernel.clock() - met_late;
        kernel.line("m", "");
        kernel
    }

    /// The run queue's clock.
    fn clock(&self) -> u64 {
        BEGIN + self.now - self.now / DRIFT
    }

    fn line(&mut self, what: &str, more: &str) {
        let Self { now, queued, waited, arrival, arrivals, .. } = self;
        let _ = writeln!(self.input, "{what} {now} {more} {queued} {waited} {arrival} {arrivals}");
    }

    fn look(&mut self, runs: bool) {
        self.line("l", "");
        let must_refuse = self.blind && runs;
        self.looks.push(Truth { at: self.now, waited: self.waited_truly, slept: self.slept, must_refuse });
    }

    /// From reading the run queue's clock to the hook: 100 to 400 ns, and seldom much longer, when a hypervisor or a
    /// softirq comes between.
    fn hook_delay(&mut self, longest: u64) {
        let pause = if self.random.one_in(10) { self.random.up_to(longest) } else { 0 };
        self.now += 100 + self.random.up_to(300) + pause;
    }

    /// Some time in a state, looked at somewhere in it.
    fn pass(&mut self, most: u64, runs: bool, each: fn(&mut Self, u64)) {
        for _ in 0..2 {
            let most = 1 + self.random.up_to(most);
            let passed = 1 + self.random.up_to(most);
            self.now += passed;
            each(self, passed);
            self.look(runs);
        }
    }

    /// Runs, leaves its processor, comes back.
    fn round(&mut self, hides_departure: bool) {
        self.pass(300_000, true, |_, _| {});
        let sleeps = self.random.one_in(2);
        let left = self.clock();
        if sleeps {
            self.hook_delay(1);
        } else {
            self.hook_delay(30_000);
        }
        if hides_departure {
            self.blind = true;
        } else {
            self.line("d", if sleeps { "1" } else { "0" });
            self.blind = false;
        }
        if sleeps {
            self.pass(500_000, false, |kernel, ns| kernel.slept += ns);
            self.queued = self.clock();
        } else {
            self.queued = left;
        }
        self.pass(500_000, false, |kernel, ns| kernel.waited_truly += ns);
        self.arrive();
    }

    fn arrive(&mut self) {
        let clock = self.clock();
        let hidden = self.random.one_in(self.hides_one_in);
        let before = self.now;
        self.hook_delay(if hidden && !self.reads_early { 1 } else { 500_000 });
        self.waited_truly += self.now - before;
        if self.reads_early {
            self.look(false);
        }
        if hidden {
            self.hidden += 1;
        } else {
            let _ = writeln!(self.input, "s {} {}", self.now, self.arrivals + 1);
        }
        self.waited += clock - self.queued;
        self.queued = 0;
        self.arrival = clock;
        self.arrivals += 1;
    }

    /// What the programs knew at each look, and how many switches they did not see.
    fn seen(&self) -> (Vec<Vec<u64>>, u64) {
        let mut lines = printed("reader", &self.input);
        let unseen = lines.pop().expect("the last line")[0];
        assert_eq!(lines.len(), self.looks.len());
        (lines, unseen)
    }
}

/// How far two readings in a row may be from the truth: two borders, and the hooks see each up to 400 ns late.
const MOST_OFF: i64 = 1_000;

#[test]
fn switches_to_the_reader_that_no_program_sees_change_nothing() {
    let mut kernel = Kernel::new(0x9e37_79b9_7f4a_7c15, 500);
    (0..3000).for_each(|_| kernel.round(false));
    let (lines, unseen) = kernel.seen();
    assert!(lines.iter().all(|line| line[0] == 1));
    let known: Vec<_> = lines.iter().zip(&kernel.looks).collect();
    for pair in known.windows(2) {
        let [(a, then), (b, now)] = pair else { unreachable!() };
        let off = |at: usize, truly: u64| b[at].wrapping_sub(a[at]) as i64 - truly as i64;
        let (waited, slept) = (off(1, now.waited - then.waited), off(2, now.slept - then.slept));
        assert!(waited.abs() < MOST_OFF && slept.abs() < MOST_OFF, "{waited} {slept}: {a:?} {b:?}");
    }
    // The last arrival is followed by no departure.
    assert!(unseen.abs_diff(kernel.hidden) <= 2 && unseen > 500, "{unseen} {}", kernel.hidden);
}

#[test]
fn after_a_departure_that_no_program_saw_nothing_is_claimed() {
    let mut kernel = Kernel::new(0x2545_f491_4f6c_dd1d, 500);
    for n in 0..3000 {
        kernel.round(n % 5 == 4);
    }
    let (lines, unseen) = kernel.seen();
    let refused = lines.iter().zip(&kernel.looks).filter(|(_, look)| look.must_refuse);
    assert!(refused.clone().count() > 1000 && refused.clone().all(|(line, _)| line[0] == 0));
    assert!(unseen >= 600, "{unseen}");
    // Nor is what it waited forgotten.
    let at = lines.iter().rposition(|line| line[0] == 1).expect("a look");
    let off = lines[at][1] as i64 - kernel.looks[at].waited as i64;
    assert!(off.unsigned_abs() < kernel.looks[at].waited / 20, "{off}");
}

#[test]
fn a_rough_start_makes_no_time_negative() {
    for seed in 1..30 {
        let mut kernel = Kernel { hides_one_in: 2, ..Kernel::new(seed << 40 | 0x5851_f42d_4c95, 20_000) };
        (0..20).for_each(|_| kernel.round(false));
        for (line, look) in kernel.seen().0.windows(2).zip(kernel.looks.windows(2)) {
            let grown = |at: usize| line[1][at].wrapping_sub(line[0][at]) as i64;
            assert!(grown(1) > -MOST_OFF && grown(2) > -MOST_OFF, "{line:?}");
            let ran = (look[1].at - look[0].at) as i64 - grown(1) - grown(2);
            assert!(ran > -MOST_OFF, "{ran}: {line:?}");
        }
    }
}

#[test]
fn who_was_seen_away_had_not_come_back() {
    for seed in 1..12 {
        let mut kernel = Kernel { reads_early: true, ..Kernel::new(seed << 40 | 0x2f4d_11a3, 500) };
        (0..200).for_each(|_| kernel.round(false));
        for pair in kernel.seen().0.windows(2) {
            let grown = |at: usize| pair[1][at].wrapping_sub(pair[0][at]) as i64;
            assert!(grown(1) > -MOST_OFF && grown(2) > -MOST_OFF, "{pair:?}");
        }
    }
}
