// The numbers behind the bars, what was tried for them, and what the paper infers.

function capacityTable({ result }) {
  if (!result.rows.length) return [note('No engine was searched.')];
  return [table('Messages a second by engine and workers', [
    { head: 'engine', cell: (r) => words(r.engine) },
    { head: 'workers', cell: (r) => count(r.workers) },
    { head: 'received by', text: true, cell: (r) => (r.receive ? words(r.receive) : 'nobody told') },
    ...CAPACITIES.map((c) => ({ head: c.name, title: c.title, cell: (r) => (r[c.key] ? el('b', {}, boundedRate(r[c.key])) : whyNone(r, c)) })),
    { head: 'of inferred', title: 'sustained over inferred',
      cell: (r) => (r.of_inferred ? withHalf(RATIO, r.of_inferred.value, r.of_inferred.half_width) : '') },
    { head: 'verdict', text: true, cell: (r) => verdictMark(r.verdict) },
  ], result.rows), lazyDetails('each search', () => searchTable(result))];
}

function whyNone(row, c) {
  const tried = row.searches.reduce((sum, s) => sum + s.probes.length, 0);
  if (c.key === 'flat_out_per_s') return 'no burst was sent';
  if (c.key === 'blocking_per_s' && !row.blocking) return 'not searched';
  return tried ? 'none of ' + counted(tried, 'rate') : 'no rate was tried';
}

function searchTable(result) {
  const rows = result.rows.flatMap((row) => row.searches.map((s, i) => ({ row, s, i })));
  if (!rows.length) return note('No search was recorded.');
  const wanted = (r) => r.s.probes.map((p) => p.wanted_per_s);
  return table('Searches', [
    { head: 'engine and workers', cell: (r) => rowName(r.row) },
    { head: 'search', cell: (r) => r.i + 1 },
    { head: 'rates tried', cell: (r) => count(r.s.probes.length) },
    { head: 'from', cell: (r) => (r.s.probes.length ? rate(smallest(wanted(r))) : '') },
    { head: 'to', cell: (r) => (r.s.probes.length ? rate(largest(wanted(r))) : '') },
    { head: 'sustained', cell: (r) => (isNumber(r.s.sustained_per_s) ? rate(r.s.sustained_per_s) : 'none') },
    { head: 'capacity', cell: (r) => (isNumber(r.s.capacity_per_s) ? rate(r.s.capacity_per_s) : 'none') },
  ], rows);
}

function probesSection({ result }) {
  const rows = result.rows.filter((r) => r.searches.some((s) => s.probes.length));
  if (!rows.length) return [note('No rate was tried.')];
  return [choice('Engine and workers', rows.map((r) => ({ name: rowName(r), build: () => probePicture(r, result.rows.indexOf(r)) }))),
    note('A point is a rate that was held. On the line it was reached; below it, it was not.')];
}

function probePicture(row, number) {
  const probes = row.searches.flatMap((s, search) => s.probes.map((p) => ({ ...p, search })))
    .filter((p) => p.wanted_per_s > 0).sort((a, b) => a.wanted_per_s - b.wanted_per_s);
  const those = (good) => probes.map((p) => (good(p) && p.reached_per_s > 0 ? p.reached_per_s : null));
  return [chart({
    id: 'probes-' + number, title: 'Rates tried, ' + rowName(row), kind: 'rate', x: RATE_X, height: 300,
    xs: probes.map((p) => p.wanted_per_s), about: 'Each rate that was held: wanted across, reached upwards.',
    series: [
      { label: 'as wanted', colour: 'muted', look: 'dashed', values: probes.map((p) => p.wanted_per_s) },
      { label: 'not kept up', colour: 'void', look: 'dots', values: those((p) => !p.sustained) },
      { label: 'kept up, not in time', colour: 'tx', look: 'dots', values: those((p) => p.sustained && !p.in_time) },
      { label: 'in time', colour: 'call', look: 'dots', values: those((p) => p.in_time) },
    ],
  }), lazyDetails('lag and loss of each', () => probeTable(row, probes))];
}

function probeTable(row, probes) {
  return table('Rates tried, ' + rowName(row), [
    { head: 'wanted', cell: (p) => rate(p.wanted_per_s) },
    { head: 'search', cell: (p) => p.search + 1 },
    { head: 'reached', cell: (p) => rate(p.reached_per_s) },
    { head: 'lost', cell: (p) => (isNumber(p.lost) ? percent(p.lost) : 'nobody told') },
    { head: 'lag p99', cell: (p) => time(p.lag_p99_ns) },
    { head: 'of a slot', cell: (p) => percent(p.lag_p99_of_slot) },
    { head: 'a whole slot late', cell: (p) => percent(p.missed) },
    { head: '', text: true, cell: (p) => (p.in_time ? 'in time' : p.sustained ? 'kept up' : 'not kept up') },
  ], probes);
}

function inferredSection({ result }) {
  const i = result.inferred;
  if (!i) return [note('The stack time could not be taken, so nothing was inferred.')];
  const half = i.peak.between_trials_ns;
  return [el('p', { class: 'capability' }, 'The mean stack time out at peak is ', el('b', {}, time(i.peak.mean_ns)),
    isNumber(half) ? ' ' + plusMinus(half) : '', ' (' + counted(i.peak.trials, 'trial') + ', ' + words(i.tap) + ' tap, taken at ' + rate(i.at_per_s)
      + '); 1 / mean is ', el('b', {}, rate(i.theoretical_per_s)), ' ', verdictMark(i.verdict)),
  note('The theoretical load capability of Borodin 2014. It holds for one message after another on one processor: more workers '
    + 'or batches can exceed it, and a receiver on the same machine can keep the rate below it.')];
}
