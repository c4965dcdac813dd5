// `netfathom load send` over the run, and how punctual it was.

function loadOverTheRun({ result, facts }) {
  const trials = loadedTrials(result);
  if (!trials.length) return [note('No loaded trial was finished: nothing was recorded over time.')];
  const windowNs = trials[0].load.series.window_ns;
  const xs = middles(windowNs, largest(trials.map((t) => t.load.series.n.length), 0));
  if (!xs.length) return [note('No message left, so there is nothing over time.')];
  return [rateChart(facts, trials, xs), lagChart(facts, trials),
    note('Lag is actual minus intended departure. Percentiles have longer windows than mean and maximum.')];
}

// Percentiles and moments have windows of different lengths: one axis holds both.
function lagChart(facts, trials) {
  const sum = pooled(trials.map((t) => t.load.series));
  const most = highest(trials.map((t) => t.load.series));
  const fine = middles(sum.window_ns, sum.n.length);
  const wide = middles(facts.windows.window_ns, facts.windows.n.length);
  const xs = [...new Set([...fine, ...wide])].sort((a, b) => a - b);
  const laid = (from, values) => {
    const at = new Map(from.map((x, i) => [x, values[i]]));
    return xs.map((x) => (at.get(x) > 0 ? at.get(x) : null));
  };
  const means = sum.n.map((_, i) => windowMean(sum, i));
  return chart({
    id: 'lag-run', title: 'Lag', kind: 'log-time', sync: 'run', x: TIME_X, xs, height: 220,
    about: 'Lag of all loaded trials, window by window.',
    series: [
      { label: 'max', colour: 'rx', look: 'thin', joined: true, values: laid(fine, most) },
      { label: 'p99', colour: 'lag', look: 'strong', joined: true, values: laid(wide, facts.windows.p99_ns) },
      { label: 'mean', colour: 'call', look: 'thin', joined: true, values: laid(fine, means) },
      { label: 'p50', colour: 'rate', look: 'strong', joined: true, values: laid(wide, facts.windows.p50_ns) },
    ],
  });
}

function highest(all) {
  const length = largest(all.map((s) => s.n.length), 0);
  return Array.from({ length }, (_, i) => largest(all.map((s) => (s.n[i] > 0 ? s.max_ns[i] : -Infinity))));
}

function histogramChart(id, title, histogram, looks) {
  const { edges_ns: edges, sets } = histogram;
  if (!edges.length) return note(title + ': there is no time above zero to draw.');
  const figure = chart({
    id, title, kind: 'share', x: LOG_TIME_X, xs: edges.map(Math.log10), height: 220,
    about: 'Part of the messages in bars that are 19 % wide.',
    series: sets.map((s) => ({ label: s.name, ...looks[s.name], values: [...s.shares, 0] })),
  });
  const left = sets.filter((s) => s.not_above_zero > 0);
  const beside = left.map((s) => percent(s.not_above_zero) + ' of ' + s.name).join(', ');
  return left.length ? [figure, note('At zero and below, where a logarithmic axis has no place: ' + beside + '.')] : figure;
}

function intervalsSection({ result, facts }) {
  const trials = loadedTrials(result);
  if (!trials.length) return [note('No loaded trial was finished.')];
  const rows = trials.flatMap((t) => [{ t, what: 'wanted', d: t.wanted_intervals }, { t, what: 'achieved', d: t.intervals }]);
  const chartPart = histogramChart('intervals', 'Intervals, wanted and achieved', facts.intervals, {
    wanted: { colour: 'planned', look: 'area' }, achieved: { colour: 'rate', look: 'steps' } });
  return [chartPart, table('Intervals of every loaded trial', [
    { head: 'trial', cell: (r) => r.t.index + 1 },
    { head: '', text: true, cell: (r) => r.what },
    { head: 'mean', cell: (r) => (r.d.n ? time(r.d.mean_ns) : NOT_KNOWN) },
    { head: 'min', cell: (r) => (r.d.n ? time(r.d.min_ns) : NOT_KNOWN) },
    { head: 'p50', cell: (r) => (r.d.n ? time(r.d.p50_ns) : NOT_KNOWN) },
    { head: 'p99', cell: (r) => (r.d.n ? time(r.d.p99_ns) : NOT_KNOWN) },
    { head: 'max', cell: (r) => (r.d.n ? time(r.d.max_ns) : NOT_KNOWN) },
  ], rows), note('The time between neighbouring departures of one worker.')];
}

function loadLag(context) {
  const picture = histogramChart('lags', 'How late messages left', context.facts.lags, { lag: { colour: 'lag', look: 'area' } });
  return [loadedTrials(context.result).length ? picture : null, lagSection(context)];
}
