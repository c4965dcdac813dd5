// `netfathom join`: the times between the places that a message passes.

function spanName(span) {
  return span.from + ' \u2192 ' + span.to;
}

function spanColour(span) {
  return span.direction || 'rate';
}

function knownSpans(result) {
  return result.spans.filter((s) => s.times.n > 0);
}

function joinGlance({ result, facts }) {
  const cards = knownSpans(result).map((s) => card({ kind: spanColour(s),
    title: s.direction ? WAYS[s.direction].title : 'Between two captures',
    big: time(s.times.mean_ns), aside: 'mean' + above(facts, result.spans.indexOf(s)),
    small: count(s.times.n) + ' messages, ' + spanName(s),
    rows: [...(s.uncertainty_ns > 0 ? [['\u00b1 by steps of clocks', time(s.uncertainty_ns)]] : []),
      ['p50', time(s.times.p50_ns)], ['p99', time(s.times.p99_ns)], ['max', time(s.times.max_ns)],
      ['below zero', count(s.times.negative)], ['highest rate', rate(s.peak_per_s)]] }));
  if (!cards.length) return [note('No message was seen at two places: there is nothing to sum up.')];
  const fitted = facts.above.some((words) => words);
  return [cardsOf(cards), fitted && note('The clocks were fitted so that the shortest way out takes no time: a time out is what lies above it, and what was taken from it is in the way in.')];
}

function above(facts, index) {
  return facts.above[index] ? ', ' + facts.above[index] : '';
}

function joinOverTime({ result }) {
  const spans = knownSpans(result);
  if (!spans.length) return [note('No message was seen at two places: nothing was recorded over time.')];
  return [columnsOf(spans.map((s) => spanOverTime(s, result.spans.indexOf(s)))),
    note('By the time at the first place. The charts zoom together where their windows are of one length.')];
}

function spanOverTime(span, number) {
  const { series } = span;
  const xs = middles(series.window_ns, series.n.length);
  const filled = (values) => padded(values.map((v, i) => (series.n[i] > 0 ? v : null)), xs.length);
  const shared = { kind: 'time', sync: 'join-' + series.window_ns, x: TIME_X, xs };
  const colourName = spanColour(span);
  return el('div', {},
    chart({ ...shared, id: 'span-' + number, title: 'Mean, ' + spanName(span), height: 200,
      about: 'Mean time of each window.',
      series: [{ label: 'mean', colour: colourName, look: 'strong', values: filled(series.n.map((_, i) => windowMean(series, i))) }] }),
    chart({ ...shared, id: 'span-max-' + number, title: 'Longest', height: 130, about: 'Longest time of each window.',
      series: [{ label: 'max', colour: colourName, look: 'strong', values: filled(series.max_ns) }] }));
}

function joinPercentiles({ result, facts }) {
  const looks = ['strong', 'dashed', 'thin'];
  const seen = {};
  const series = result.spans.map((s, i) => {
    const turn = seen[spanColour(s)] = (seen[spanColour(s)] || 0) + 1;
    // Names may be alike; what a switch of the legend belongs to must not be.
    return { ...percentileCurve(spanName(s), spanColour(s), looks[(turn - 1) % looks.length],
      facts.spans[i].map((v) => (v > 0 ? v : null)), 'span ' + i), groupName: spanName(s) };
  }).filter((s) => s.values.some(isNumber));
  if (!series.length) return [note('Too few messages for percentiles.')];
  return [percentileChart('percentiles', 'Time by percentile', facts, series),
    note('A percentile with fewer than ten messages beyond it is not drawn. Times at or below zero have no place on a '
      + 'logarithmic axis; they stand in the table.')];
}

function joinTable({ result }) {
  if (!result.spans.length) return [note('No message was seen at two places: there are no rows.')];
  const value = (read) => (s) => (s.times.n ? read(s.times) : NOT_KNOWN);
  return [table('Times between the places that a message passes', [
    { head: 'way', cell: (s) => s.direction || 'between' },
    { head: 'from', text: true, cell: (s) => s.from },
    { head: 'to', text: true, cell: (s) => s.to },
    { head: 'messages', cell: (s) => count(s.times.n) },
    { head: 'mean', cell: value((d) => el('b', {}, time(d.mean_ns))) },
    ...(result.spans.some((s) => s.uncertainty_ns > 0) ? [{ head: '\u00b1',
      title: 'How far the mean is uncertain by the steps of the clocks: half a step of each.',
      cell: (s) => time(s.uncertainty_ns) }] : []),
    { head: 'min', cell: value((d) => time(d.min_ns)) },
    { head: 'p50', cell: value((d) => time(d.p50_ns)) },
    { head: 'p99', cell: value((d) => time(d.p99_ns)) },
    { head: 'p99.9', cell: value((d) => time(d.p999_ns)) },
    { head: 'max', cell: value((d) => time(d.max_ns)) },
    { head: 'S*', title: S_MEANS, cell: value((d) => time(d.mean_error_ns)) },
    { head: 'below zero', cell: (s) => count(s.times.negative) },
    { head: 'highest rate', cell: (s) => rate(s.peak_per_s) },
  ], result.spans), result.spans.some((s) => s.times.negative > 0)
    && note('Below zero: the clocks were not put together closer than that. Such times are kept in every number.')];
}
