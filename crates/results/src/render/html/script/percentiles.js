// Percentile curves, drawn from the merged histograms, and the lag.

function percentileCurve(label, colourName, look, values, group) {
  return { label, group, colour: colourName, look, values };
}

function percentileChart(id, title, facts, series, quantity) {
  const last = facts.quantiles.findLastIndex((_, i) => series.some((s) => isNumber(s.values[i])));
  const xs = facts.quantiles.slice(0, last + 1).map(ninesOf);
  const cut = (s) => ({ ...s, values: s.values.slice(0, last + 1) });
  return chart({ id, title, kind: 'log-time', quantity, x: PERCENTILE_X, xs, height: 280, series: series.map(cut),
    about: 'Time by percentile, from 0 to the nines.' });
}

// The generator's own fault, and what its call took.
function lagSection({ facts, result }) {
  const trials = result.trials;
  if (!trials.length) return [note('No trial was finished.')];
  const parts = [];
  const series = [percentileCurve('lag', 'lag', 'strong', facts.lag), percentileCurve('send call', 'call', 'strong', facts.send_call)];
  if (series.some((s) => s.values.some(isNumber))) {
    parts.push(percentileChart('lag', 'Lag and send call by percentile', facts, series));
  }
  parts.push(lagTable(trials));
  parts.push(note('Lag is actual minus intended departure: the generator’s own fault, kept apart from the stack’s. '
    + (result.plan.controls === undefined ? '' : 'Curves: trials with the tap.')));
  return parts;
}

function lagTable(trials) {
  return table('Lag and send call of every trial', [
    { head: 'trial', cell: (t) => t.index + 1 },
    { head: 'kind', text: true, cell: (t) => words(t.kind) },
    { head: 'lag mean', cell: (t) => time(t.load.lag.mean_ns) },
    { head: 'p99', cell: (t) => time(t.load.lag.p99_ns) },
    { head: 'max', cell: (t) => time(t.load.lag.max_ns) },
    { head: 'p99 of slot', title: 'lag in slots (the wanted interval, times the messages that the engine sends together), 99th percentile; DEGRADED beyond 10 %',
      cell: (t) => percent(t.load.lag_p99_of_interval) },
    { head: 'missed slots', title: 'messages that left after the next one was due', cell: (t) => count(t.load.missed_slots) },
    { head: 'send call mean', cell: (t) => time(t.load.send_call.mean_ns) },
    { head: 'p99', cell: (t) => time(t.load.send_call.p99_ns) },
    { head: 'unsent', cell: (t) => count(t.load.unsent) },
  ], trials);
}
