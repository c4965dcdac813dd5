//! Library beside bare sockets: rounds, ratios, their median and spread.

use std::time::{Duration, Instant};

use crate::counted::Calls;

/// How long one run of what is repeated takes.
const FOR: Duration = Duration::from_millis(60);

/// What one run came to.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub per_s: f64,
    /// CPU time of the process, hence of both ends, seconds for each.
    pub cpu_s: f64,
}

/// CPU time of this process.
pub fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
}

/// Repeats until the time is over, then ends it, which must wait until all of it has come.
pub fn run(mut once: impl FnMut(), end: impl FnOnce()) -> (Run, u64) {
    let (begin, spent) = (Instant::now(), cpu_time());
    let mut count = 0_u64;
    while begin.elapsed() < FOR {
        for _ in 0..64 {
            once();
        }
        count += 64;
    }
    end();
    let (time, spent) = (begin.elapsed(), cpu_time() - spent);
    let run = Run { per_s: count as f64 / time.as_secs_f64(), cpu_s: spent.as_secs_f64() / count as f64 };
    (run, count)
}

/// The time of one, in microseconds.
pub fn timed(once: &mut dyn FnMut()) -> f64 {
    let before = Instant::now();
    once();
    before.elapsed().as_nanos() as f64 / 1000.0
}

/// Ratios of rounds.
#[derive(Default)]
pub struct Ratios(Vec<f64>);

impl Ratios {
    fn median(values: &[f64]) -> f64 {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let half = sorted.len() / 2;
        if sorted.len().is_multiple_of(2) { (sorted[half - 1] + sorted[half]) / 2.0 } else { sorted[half] }
    }

    fn show(&self) -> String {
        let least = self.0.iter().copied().fold(f64::MAX, f64::min);
        let most = self.0.iter().copied().fold(0.0, f64::max);
        format!("{:>6.3} [{least:.3} {most:.3}]", Self::median(&self.0))
    }
}

/// Rates that were compared.
#[derive(Default)]
pub struct Rates {
    bare: Vec<f64>,
    rate: Ratios,
    cpu: Ratios,
}

pub fn rounds(count: usize, mut bare: impl FnMut() -> Run, mut here: impl FnMut() -> Run) -> Rates {
    let mut rates = Rates::default();
    // What has never run yet is slow.
    bare();
    here();
    for _ in 0..count {
        let [a, b, c, d] = [bare(), here(), here(), bare()];
        rates.bare.push((a.per_s + d.per_s) / 2.0);
        rates.rate.0.push((b.per_s + c.per_s) / (a.per_s + d.per_s));
        rates.cpu.0.push((b.cpu_s + c.cpu_s) / (a.cpu_s + d.cpu_s));
    }
    rates
}

impl Rates {
    pub fn show(&self, calls: &Calls) -> String {
        let bare = Ratios::median(&self.bare);
        format!("bare {bare:>9.0}/s  rate {}  cpu {}  {}", self.rate.show(), self.cpu.show(), calls.show())
    }
}

/// Times there and back that were compared.
#[derive(Default)]
pub struct Trips {
    bare: [Vec<f64>; 2],
    half: Ratios,
    tail: Ratios,
    rate: Ratios,
    cpu: Ratios,
}

impl Trips {
    pub fn add(&mut self, mut round: [Vec<f64>; 2], spent: [Duration; 2]) {
        let sums = round.each_ref().map(|times| times.iter().sum::<f64>());
        for times in &mut round {
            times.sort_by(f64::total_cmp);
        }
        let [half, tail] =
            [50, 99].map(|percent| round.each_ref().map(|times| times[times.len() * percent / 100]));
        self.bare[0].push(half[0]);
        self.bare[1].push(tail[0]);
        self.half.0.push(half[1] / half[0]);
        self.tail.0.push(tail[1] / tail[0]);
        self.rate.0.push(sums[0] / sums[1]);
        self.cpu.0.push(spent[1].as_secs_f64() / spent[0].as_secs_f64());
    }

    pub fn show(&self, calls: &Calls) -> String {
        let [half, tail] = self.bare.each_ref().map(|times| Ratios::median(times));
        format!(
            "bare {half:>6.1} {tail:>6.1} us  p50 {}  p99 {}  rate {}  cpu {}  {}",
            self.half.show(),
            self.tail.show(),
            self.rate.show(),
            self.cpu.show(),
            calls.show()
        )
    }
}
