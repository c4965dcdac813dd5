//! The clocks of two hosts, aligned by the delays of the messages between them.
//!
//! A message takes at least some time, and often hardly more: the shortest delays of many windows
//! of time lie on a line, and its slope is the drift between the clocks. The line that lies below
//! all of them and is nearest to them on the whole is an edge of their lower convex hull: the
//! one above or below the middle of their times (Moon, Skelly, Towsley 1999).

/// Windows that the minima are taken of.
const WINDOWS: usize = 512;
/// Shorter ones would be full of noise.
const SHORTEST_WINDOW_NS: i64 = 10_000_000;
/// Fewer minima have no slope, and shorter stretches of time neither.
const FEWEST_WINDOWS: usize = 16;
const SHORTEST_NS: f64 = 2e9;
/// Clocks drift less: NTP corrects at most this much, and a quartz is off by less.
const MOST_DRIFT: f64 = 500e-6;

/// A jump is at least so much, with this many windows before and after it, and over this many times what
/// neighboring minima differ by elsewhere: the shortest times of a stack, or of a path, hardly change like that.
const LEAST_JUMP_NS: u64 = 1_000_000;
const FEWEST_BESIDE: usize = 8;
const JUMP: u64 = 10;

/// 120 years: more than lies between 1970 and any log. Within it, the fitted line gives every moment a
/// time that a record may have.
const MOST_APART_NS: u64 = 3_800_000_000_000_000_000;

/// How the clock of the capture is ahead of the log's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fitted {
    pub offset_ns: i64,
    /// When that holds, on the clock of the capture.
    pub at_ns: i64,
    /// How much it changes, ns each ns; 0 if unknown.
    pub drift: f64,
}

impl Fitted {
    /// How much the clock of the capture is ahead at a moment of it.
    #[inline]
    pub fn ahead_ns(&self, captured_ns: i64) -> i64 {
        let since = captured_ns.wrapping_sub(self.at_ns) as f64;
        self.offset_ns.wrapping_add((self.drift * since).round() as i64)
    }
}

/// Collects what a [`Fitted`] is made of.
#[derive(Clone, Debug)]
pub struct ClockFit {
    windows: Vec<Option<(i64, i64)>>,
    window_ns: i64,
    start_ns: Option<i64>,
}

/// A fit, and how it moved over the capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    pub fitted: Fitted,
    /// How much it rose from the first to the last message; `None` without a slope.
    pub moved_ns: Option<i64>,
    pub jump: Option<Jump>,
}

/// Where the shortest times change at once, and stay so: a clock was set, the path is another one, or a queue
/// stays full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jump {
    /// By the capture, from the first message.
    pub after_ns: u64,
    pub by_ns: u64,
}

impl Default for ClockFit {
    fn default() -> Self {
        Self { windows: Vec::new(), window_ns: SHORTEST_WINDOW_NS, start_ns: None }
    }
}

impl ClockFit {
    /// Adds a message: when it was captured, by the capture, and how much later that is than
    /// when it was sent, by the log. Of received ones take the captured time less the received
    /// one, both with the opposite sign.
    ///
    /// Clocks that differ by more than [`MOST_APART_NS`] are not two of one time, but one of them is damaged: such
    /// a message is left out.
    #[inline]
    pub fn add(&mut self, captured_ns: i64, difference_ns: i64) {
        if difference_ns.unsigned_abs() > MOST_APART_NS {
            return;
        }
        let start = *self.start_ns.get_or_insert(captured_ns);
        let mut at = captured_ns.saturating_sub(start).max(0) / self.window_ns;
        while at >= WINDOWS as i64 {
            self.halve();
            at /= 2;
        }
        let at = at as usize;
        if at >= self.windows.len() {
            self.windows.resize(at + 1, None);
        }
        let window = &mut self.windows[at];
        if window.is_none_or(|(_, least)| difference_ns < least) {
            *window = Some((captured_ns, difference_ns));
        }
    }

    fn halve(&mut self) {
        let lower = |pair: &[Option<(i64, i64)>]| pair.iter().flatten().min_by_key(|(_, d)| *d).copied();
        self.windows = self.windows.chunks(2).map(lower).collect();
        self.window_ns = self.window_ns.saturating_mul(2);
    }

    /// The line below all; `None` without a message.
    pub fn fit(&self) -> Option<Fit> {
        let points: Vec<(i64, i64)> = self.windows.iter().flatten().copied().collect();
        let &(at_ns, least) = points.iter().min_by_key(|(_, d)| *d)?;
        let fitted = Fitted { offset_ns: least, at_ns, drift: 0.0 };
        let flat = Fit { fitted, moved_ns: None, jump: jump(&points) };
        let (first, last) = (points[0].0, points[points.len() - 1].0);
        // Relative to the least, for a difference since 1970 has no digits left in an f64.
        let near: Vec<(f64, f64)> = points
            .iter()
            .map(|&(t, d)| (t.wrapping_sub(first) as f64, d.wrapping_sub(least) as f64))
            .collect();
        let length = last.wrapping_sub(first) as f64;
        if points.len() < FEWEST_WINDOWS || length < SHORTEST_NS {
            return Some(flat);
        }
        let Some(((t0, d0), drift)) = edge(&near) else { return Some(flat) };
        if drift.abs() > MOST_DRIFT {
            return Some(flat);
        }
        let offset_ns = least.wrapping_add((d0 - drift * t0).floor() as i64);
        let fitted = Fitted { offset_ns, at_ns: first, drift };
        Some(Fit { fitted, moved_ns: Some((drift * length).round() as i64), ..flat })
    }
}

/// The one jump between neighboring minima: two of a size hide each other.
fn jump(points: &[(i64, i64)]) -> Option<Jump> {
    let jumps: Vec<u64> = points.windows(2).map(beyond_drift).collect();
    let place = (0..jumps.len()).max_by_key(|&place| jumps[place])?;
    let elsewhere = jumps[..place].iter().chain(&jumps[place + 1..]).max()?;
    let is_within = place + 1 >= FEWEST_BESIDE && jumps.len() - place >= FEWEST_BESIDE;
    let is_jump = jumps[place] > LEAST_JUMP_NS && jumps[place] / JUMP > *elsewhere;
    let [first, before, after] = [0, place, place + 1].map(|place| points[place]);
    let jump = Jump { after_ns: after.0.abs_diff(first.0), by_ns: after.1.abs_diff(before.1) };
    (is_within && is_jump).then_some(jump)
}

/// By how much two minima differ more than a drift explains.
fn beyond_drift(pair: &[(i64, i64)]) -> u64 {
    let [before, after] = [pair[0], pair[1]];
    let drift = MOST_DRIFT * before.0.abs_diff(after.0) as f64;
    before.1.abs_diff(after.1).saturating_sub(drift as u64)
}

/// The edge of the lower hull over the mean of the times: where it begins, and its slope.
fn edge(points: &[(f64, f64)]) -> Option<((f64, f64), f64)> {
    let mean = points.iter().map(|p| p.0).sum::<f64>() / points.len() as f64;
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for &p in points {
        while let [.., a, b] = hull[..] {
            let turns_left = (b.0 - a.0) * (p.1 - a.1) - (b.1 - a.1) * (p.0 - a.0) > 0.0;
            if turns_left {
                break;
            }
            hull.pop();
        }
        hull.push(p);
    }
    let pair = hull.windows(2).find(|w| w[0].0 <= mean && mean <= w[1].0 && w[0].0 < w[1].0)?;
    Some((pair[0], (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0)))
}
