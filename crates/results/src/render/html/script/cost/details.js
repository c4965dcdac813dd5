// From mark to mark, by resource, and by the benchmark's own system calls.

function costSpans(context) {
  if (!context.facts.benchmarks.some((b) => b.comparisons.some((c) => c.spans.length))) return [note('No span was measured.')];
  return [eachComparison(context, (one, benchmark, fact) => spanParts(one, fact)),
    note('How much longer each span takes, with its 95 % interval between blocks; what is not told from chance is hatched.')];
}

function spanParts({ c, fact }, benchmark) {
  if (!fact.spans.length) return note('No span was measured.');
  const told = (i) => c.spans[i].outcome === 'cost' || c.spans[i].outcome === 'faster';
  const rows = fact.spans.map((s, i) => ({ ...s, name: benchmark.spans[i] || NOT_KNOWN, told: told(i) }));
  return el('div', {}, shareForest(rows.map((r) => ({ name: shortSpan(r.name), title: r.name + ': ' + r.before + ' before, ' + r.after + ' after', number: r.change, told: r.told, paint: EFFECT_COLOURS[c.effect] }))),
    fact.most_taken && el('p', {}, 'Most is taken from ', el('b', {}, fact.most_taken[0]), ' (' + fact.most_taken[1] + ').'),
    lazyDetails('as a table', () => table('From mark to mark', [
      { head: benchmark.by_resource ? 'resource' : 'span', text: true, cell: (r) => r.name },
      { head: 'before', cell: (r) => r.before },
      { head: 'after', cell: (r) => r.after },
      { head: 'change', cell: (r) => el('b', {}, numberText(r.change)) },
      { head: 'outcome', text: true, cell: (r) => r.outcome },
    ], rows)));
}

// Marks may be whole paths.
function shortSpan(name) {
  return name.split(' \u2192 ').map((mark) => shortName(mark, 24)).join(' \u2192 ');
}

function costTaken(context) {
  return [eachComparison(context, (one) => takenParts(one)),
    note('Differences a trial, with their 95 % intervals between blocks. “(machine)”: of all processes together, not of the benchmark alone.')];
}

function takenParts({ c, fact }) {
  if (!fact.taken.length) return note('Of no resource anything is known.');
  const rows = fact.taken.map((t) => ({ ...t, rowClass: t.beyond_chance ? null : 'outside' }));
  const times = rows.filter((t) => t.time);
  return el('div', {},
    times.length > 0 && el('figure', { class: 'chart' }, el('figcaption', {}, el('b', {}, 'More time, by resource')), forest(times.map((t) => ({ name: t.name,
      title: t.before + ' before, ' + t.after + ' after', number: t.difference, told: t.beyond_chance, paint: EFFECT_COLOURS[c.effect] })), { tick: tickTime })),
    table('What was taken, by resource', [
      { head: 'resource', cell: (t) => t.name },
      { head: 'before', cell: (t) => t.before },
      { head: 'after', cell: (t) => t.after },
      { head: 'difference', cell: (t) => (t.beyond_chance ? el('b', {}, numberText(t.difference)) : numberText(t.difference)) },
      { head: '', text: true, cell: (t) => (isNumber(t.difference.half) && !t.beyond_chance ? 'within chance' : '') },
    ], rows));
}

function costCalls(context) {
  return [eachBenchmark(context, (benchmark, fact) => callParts(context, benchmark, fact)),
    note('Those that take most time first. “Adds”: what a run lasts longer by it.')];
}

function callParts({ facts }, benchmark, fact) {
  if (!fact.calls.length) return note(benchmark.name + ': its system calls were not timed.');
  const rows = benchmark.calls.map((call, i) => ({ call, fact: fact.calls[i] }));
  const known = (adds) => Boolean(adds && isNumber(adds.half) && Math.abs(adds.value) > adds.half);
  const pictured = isNumber(fact.shown) && rows.filter((r) => r.fact.adds[fact.shown]).slice(0, MOST_ROWS);
  const times = facts.conditions.map((name, i) => ({ name, i })).filter(({ i }) => benchmark.calls.some((c) => c.times[i]));
  return el('div', {}, pictured && pictured.length > 0 && el('figure', { class: 'chart' },
    el('figcaption', {}, el('b', {}, 'What each call adds to a run'), el('span', { class: 'unit' }, ' ' + fact.comparisons[fact.shown].beside)),
    forest(pictured.map((r) => ({ name: r.fact.name, number: r.fact.adds[fact.shown], told: known(r.fact.adds[fact.shown]), paint: 'rx' })), { tick: tickTime })),
  table('Its own system calls', [
    { head: 'call', text: true, cell: (r) => el('code', {}, r.fact.name) },
    ...times.flatMap(({ name, i }) => [{ head: 'calls, ' + name, cell: (r) => (r.call.times[i] ? count(r.call.times[i].calls) : '\u2013') },
      { head: 'time, ' + name, cell: (r) => (r.call.times[i] ? time(r.call.times[i].total_ns) : '\u2013') }]),
    ...fact.comparisons.map((c, i) => ({ head: 'adds, ' + c.row, title: c.beside, cell: (r) => el('b', {}, r.fact.adds[i] ? numberText(r.fact.adds[i]) : '\u2013') })),
  ], rows));
}
