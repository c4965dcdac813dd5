// What is in view of the single messages: each of them where they are few, else the lowest, the mean
// and the highest of each bin.

// A curve of each: lowest, mean, highest, and single messages.
function viewOfSamples(set, way, trials, from, to) {
  const parts = trials.map((t) => [firstAtLeast(set.seconds, from, t.from, t.to), firstAbove(set.seconds, to, t.from, t.to)]);
  const n = parts.reduce((sum, [a, b]) => sum + b - a, 0);
  return n > MOST_DRAWN ? binsOfSamples(set, way, parts, from, to, n) : singleSamples(set, way, parts);
}

function singleSamples(set, way, parts) {
  const { codes, times_ns: times } = set.ways[way];
  const found = [];
  for (const [a, b] of parts) {
    for (let i = a; i < b; i += 1) if (codes[i] > 0) found.push([set.seconds[i], times[codes[i] - 1]]);
  }
  found.sort((a, b) => a[0] - b[0]);
  const none = found.map(() => null);
  return { xs: found.map((f) => f[0]), columns: [none, none, none, found.map((f) => drawable(f[1]))], each: found };
}

function binsOfSamples(set, way, parts, from, to, n) {
  const { codes, times_ns: times } = set.ways[way];
  const width = (to - from) / BINS || 1;
  const low = new Float64Array(BINS).fill(Infinity);
  const high = new Float64Array(BINS).fill(-Infinity);
  const [sum, counts] = [new Float64Array(BINS), new Float64Array(BINS)];
  for (const [a, b] of parts) {
    for (let i = a; i < b; i += 1) {
      if (codes[i] === 0) continue;
      const ns = times[codes[i] - 1];
      const k = Math.min(BINS - 1, Math.floor((set.seconds[i] - from) / width));
      if (ns < low[k]) low[k] = ns;
      if (ns > high[k]) high[k] = ns;
      sum[k] += ns;
      counts[k] += 1;
    }
  }
  const filled = Array.from(counts.keys()).filter((k) => counts[k] > 0);
  const rows = filled.map((k) => ({ x: from + (k + 0.5) * width, n: counts[k], low: low[k], mean: sum[k] / counts[k], high: high[k] }));
  const column = (name) => rows.map((r) => drawable(r[name]));
  return { xs: rows.map((r) => r.x), columns: [column('low'), column('mean'), column('high'), rows.map(() => null)],
    binned: Math.ceil(n / BINS), rows };
}

// Zero and below have no place on a logarithmic axis.
function drawable(ns) {
  return ns > 0 ? ns : null;
}
