// Arithmetic over windows of time. Merging is addition: sums and counts are added over the
// trials first, and divided last.

function measuredTrials(result) {
  return result.trials.filter((t) => t.kind === 'measured');
}

function pathOf(trial, direction) {
  return trial.paths.find((p) => p.direction === direction);
}

function windowMean(series, i) {
  return series.n[i] > 0 ? series.sum_ns[i] / series.n[i] : null;
}

// Adds series of one window length; those of another cannot be laid upon each other.
function pooled(all) {
  const windowNs = all.length ? all[0].window_ns : 0;
  const same = all.filter((s) => s.window_ns === windowNs);
  const length = largest(same.map((s) => s.n.length), 0);
  const sum = { window_ns: windowNs, n: new Array(length).fill(0), sum_ns: new Array(length).fill(0) };
  for (const s of same) {
    s.n.forEach((n, i) => {
      sum.n[i] += n;
      sum.sum_ns[i] += s.sum_ns[i];
    });
  }
  return sum;
}

function middles(windowNs, length) {
  return Array.from({ length }, (_, i) => (i + 0.5) * windowNs / 1e9);
}

// Messages a second that left in each window. A trial that was stopped has a last window
// of unknown length, and the plan may end within one.
function achieved(trial, durationS) {
  const { n, window_ns: windowNs } = trial.load.series;
  const length = windowNs / 1e9;
  const last = n.reduce((found, value, i) => (value > 0 ? i : found), -1);
  return n.map((value, i) => {
    const span = Math.min(length, durationS - i * length);
    if (span <= length * 0.05 || i > last) return null;
    return i === last && trial.load.unsent > 0 ? null : value / span;
  });
}

// The wanted rate, averaged over a window.
function planned(pieces, fromS, toS) {
  let messages = 0;
  let covered = 0;
  for (const p of pieces) {
    const a = Math.max(fromS, p.start_s);
    const b = Math.min(toS, p.start_s + p.length_s);
    if (b <= a) continue;
    const at = (t) => p.from_per_s + (p.to_per_s - p.from_per_s) * (t - p.start_s) / p.length_s;
    messages += (at(a) + at(b)) / 2 * (b - a);
    covered += b - a;
  }
  return covered > 0 ? messages / covered : null;
}

function meanOf(values) {
  const known = values.filter((v) => v !== null && v !== undefined);
  return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
}

// Windows of many trials gathered into bins of equal width over the rate.
function byRate(points, bins) {
  const rates = points.map((p) => p.rate);
  const low = smallest(rates);
  const width = (largest(rates) - low) / bins || 1;
  const gathered = new Map();
  for (const p of points) {
    const bin = Math.min(bins - 1, Math.floor((p.rate - low) / width));
    const sum = gathered.get(bin) || { n: 0, sum: 0, rates: 0, windows: 0 };
    gathered.set(bin, { n: sum.n + p.n, sum: sum.sum + p.sum, rates: sum.rates + p.rate, windows: sum.windows + 1 });
  }
  return [...gathered.values()].map((s) => ({ rate: s.rates / s.windows, mean: s.sum / s.n }));
}
