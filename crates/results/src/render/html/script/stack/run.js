// The papers' figures: rate and mean stack time over the run, and one against the other.

function overTheRun(context) {
  const trials = measuredTrials(context.result);
  if (!trials.length) return [note('No finished trial with the tap: nothing was recorded over time.')];
  const directions = directionsOf(trials);
  const xs = commonWindows(trials);
  return [
    columnsOf(directions.map((d) => timeChart(trials, d, xs))),
    rateChart(context.facts, trials, xs),
    columnsOf(directions.map((d) => againstRate(context, trials, d))),
    note('A point is a window of one trial; the line gathers the windows of all trials by the rate that was achieved '
      + 'in them, messages added up before they are divided.'),
  ];
}

function directionsOf(trials) {
  return ['tx', 'rx'].filter((d) => trials.some((t) => pathOf(t, d)));
}

// Charts that zoom together share their windows.
function commonWindows(trials) {
  const all = trials.flatMap((t) => [t.load.series, ...t.paths.map((p) => p.series)]);
  const windowNs = all[0].window_ns;
  return middles(windowNs, largest(all.map((s) => s.n.length), 0));
}

function timeChart(trials, direction, xs) {
  const having = trials.filter((t) => pathOf(t, direction));
  const means = (t) => pathOf(t, direction).series.n.map((_, i) => windowMean(pathOf(t, direction).series, i));
  const sum = pooled(having.map((t) => pathOf(t, direction).series));
  const all = sum.n.map((_, i) => windowMean(sum, i));
  return chart({
    id: 'time-' + direction, title: 'Mean stack time, ' + direction, kind: 'time', sync: 'run', x: TIME_X, xs,
    about: 'Mean stack time of each window over the trial.',
    series: curves(having, direction, xs.length, means, all, 'all trials'),
  });
}

// Windows with hardly a message, at a trial's ragged end, would only blur the picture.
function windowsOf(trial, direction, durationS) {
  const rates = achieved(trial, durationS);
  const { n, sum_ns: sum } = pathOf(trial, direction).series;
  return n.map((count, i) => ({ trial, rate: rates[i], n: count, sum: sum[i] }))
    .filter((w) => w.n > 0 && isNumber(w.rate));
}

function againstRate({ facts }, trials, direction) {
  const points = trials.filter((t) => pathOf(t, direction)).flatMap((t) => windowsOf(t, direction, facts.duration_s));
  if (!points.length) return note('No window of ' + direction + ' has both a rate and a time.');
  const line = byRate(points, 40);
  const all = [...points.map((p) => ({ rate: p.rate, point: p.sum / p.n })), ...line.map((b) => ({ rate: b.rate, bin: b.mean }))]
    .sort((a, b) => a.rate - b.rate);
  return chart({
    id: 'against-' + direction, title: 'Mean stack time against rate, ' + direction, kind: 'time', x: RATE_X,
    xs: all.map((p) => p.rate), about: 'Each window of each trial by its achieved rate.',
    series: [
      { label: 'windows', colour: direction, look: 'points', values: all.map((p) => (isNumber(p.point) ? p.point : null)) },
      { label: 'all trials', colour: direction, look: 'strong', joined: true,
        values: all.map((p) => (isNumber(p.bin) ? p.bin : null)) },
    ],
  });
}

// Stages over the run, each as a layer: which of them grows as the rate rises?
function stagesOverTheRun({ result, facts }) {
  const trials = measuredTrials(result);
  const parts = directionsOf(trials).map((d) => stageLayers(trials, d, facts)).filter(Boolean);
  if (!parts.length) return [note('No stage was measured over time.')];
  return [columnsOf(parts), note('Layers add up to the mean stack time of each window; stages below the link layer are left out.')];
}

function stageLayers(trials, direction, facts) {
  const paths = trials.map((t) => pathOf(t, direction)).filter(Boolean);
  const total = pooled(paths.map((p) => p.series));
  const names = [...new Set(paths.flatMap((p) => p.stages.map((s) => s.stage)))];
  const layer = (name) => {
    const found = paths.flatMap((p) => p.stages.filter((s) => s.stage === name && s.times.measured));
    const sum = pooled(found.map((s) => s.times.measured.series));
    return { label: words(name), name, look: 'layer', colour: 'stage-' + stageColour(name), known: found.length > 0,
      values: total.n.map((n, i) => (n > 0 ? (sum.sum_ns[i] || 0) / n : null)) };
  };
  const inside = names.filter((n) => (facts.stages[n] || {}).inside).map(layer).filter((l) => l.known);
  if (!inside.length) return null;
  return chart({
    id: 'stages-' + direction, title: 'Stages, ' + direction, kind: 'time', sync: 'stages', x: TIME_X,
    xs: middles(total.window_ns, total.n.length), stacked: true, series: inside.reverse(),
    about: 'Part of each stage in the mean stack time of each window.',
  });
}
