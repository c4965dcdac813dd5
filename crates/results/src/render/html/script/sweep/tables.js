// A sweep in figures, and what its causes mean.

function sweepMeaning({ facts }) {
  if (!facts.causes.length) return [note('Nothing was told of what limited the transfers.')];
  return facts.causes.map((c) => {
    const node = el('article', { class: 'held small' }, el('p', { class: 'cause' }, el('b', {}, c.name), ' ', el('span', {}, counted(c.points, 'point'))),
      el('p', { class: 'said' }, c.said), el('p', {}, el('b', {}, 'What to do: '), c.remedy));
    node.style.setProperty('--c', 'var(--' + causeColour(c.cause) + ')');
    return node;
  });
}

function sweepNumbers({ result, facts }) {
  if (!result.points.length) return [note('No trial was finished.')];
  const rows = result.points.map((p, i) => ({ p, fact: facts.points[i] || {} }));
  const rateOf = (r, key) => (r.p.rate ? bitRate(r.p.rate[key]) : NOT_KNOWN);
  const trouble = rows.flatMap((r) => (r.fact.trouble || []).map((text) => r.fact.buffer + ', ' + r.fact.series + ': ' + text));
  return [table('Points', [
    { head: 'buffer', cell: (r) => r.fact.buffer },
    { head: 'granted', cell: (r) => (isNumber(r.p.granted_buffer_bytes) ? count(r.p.granted_buffer_bytes) : '\u2013'),
      title: 'what the kernel made of the wish, in the same measure' },
    { head: 'write', cell: (r) => count(r.p.write_bytes) },
    { head: 'no delay', cell: (r) => (r.p.no_delay ? 'on' : 'off') },
    { head: 'median', cell: (r) => el('b', {}, rateOf(r, 'median_bytes_per_s')) },
    { head: 'lowest', cell: (r) => rateOf(r, 'lowest_bytes_per_s') },
    { head: 'highest', cell: (r) => rateOf(r, 'highest_bytes_per_s') },
    { head: '95 % of the median', cell: (r) => intervalOf(r.p.rate), title: 'by the sign test, which needs six trials' },
    { head: 'trials', cell: (r) => count(r.p.trials.length) },
    { head: 'limited by', text: true, cell: (r) => r.fact.cause },
  ], rows), note('Rates are those until the receiver had everything.'),
  trouble.length > 0 && el('ul', { class: 'reasons degraded' }, trouble.map((text) => el('li', {}, text))),
  lazyDetails('each trial', () => sweepTrials(rows))];
}

function intervalOf(rate) {
  const interval = rate && rate.interval_bytes_per_s;
  return interval ? bitRate(interval[0]) + ' – ' + bitRate(interval[1]) : NOT_KNOWN;
}

function sweepTrials(points) {
  const rows = points.flatMap(({ p, fact }) => p.trials.map((t) => ({ p, fact, t }))).sort((a, b) => a.t.index - b.t.index);
  const until = (t) => (isNumber(t.closed_ns) ? t.closed_ns : t.duration_ns);
  return table('Trials', [
    { head: 'trial', cell: (r) => count(r.t.index + 1) },
    { head: 'buffer', cell: (r) => r.fact.buffer },
    { head: 'write', cell: (r) => count(r.p.write_bytes) },
    { head: 'no delay', cell: (r) => (r.p.no_delay ? 'on' : 'off') },
    { head: 'bytes', cell: (r) => count(r.t.bytes) },
    { head: 'until all was there', cell: (r) => seconds(until(r.t) / 1e9) },
    { head: 'rate', cell: (r) => (until(r.t) > 0 ? bitRate(r.t.bytes / until(r.t) * 1e9) : NOT_KNOWN) },
    { head: 'round trip', cell: (r) => (r.t.tcp ? time(r.t.tcp.rtt_us * 1000) : NOT_KNOWN) },
    { head: 'sent again', cell: (r) => (r.t.tcp ? count(r.t.tcp.retransmits) : NOT_KNOWN) },
    { head: 'longest call', cell: (r) => (r.t.calls_took ? time(r.t.calls_took.longest_ns) : NOT_KNOWN) },
    { head: 'ended', text: true, cell: (r) => words(r.t.end.how) },
    { head: 'what held it up', text: true, wide: true, cell: (r) => (r.t.explanation ? r.t.explanation.said : NOT_KNOWN) },
  ], rows);
}
