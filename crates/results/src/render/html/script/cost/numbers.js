// The slowdowns in figures, and the trials behind them over time.

function costNumbers({ result, facts }) {
  const tables = result.benchmarks.flatMap((b, i) => facts.benchmarks[i].effects.map((e) =>
    el('div', {}, subtitle(b.name + ': ' + e.about), slowdownTable(b, facts.benchmarks[i], (c) => c.effect === e.effect))));
  if (!tables.length) return [note('Nothing was compared.')];
  return [tables, facts.overall.length > 0 && el('div', {}, subtitle('All benchmarks together'), table('All benchmarks together', [
    { head: 'of what', text: true, wide: true, cell: (o) => o.what },
    { head: 'slowdown', cell: (o) => el('b', {}, numberText(o.slowdown)) },
    { head: 'PCost', cell: (o) => numberText(o.pcost) },
  ], facts.overall), note('The geometric mean of the ratios of times, and the mean of the PCosts.')), note(capital(facts.slowdown_note) + '.')];
}

function slowdownTable(benchmark, fact, wanted) {
  const rows = benchmark.comparisons.map((c, i) => ({ c, fact: fact.comparisons[i] })).filter(({ c }) => wanted(c));
  const several = new Set(rows.map((r) => r.c.effect)).size > 1;
  return table('Slowdown', [
    { head: rows.some((r) => r.fact.level !== null && r.c.effect !== 'observation') ? 'load' : 'condition', text: true, cell: (r) => r.fact.row },
    ...(several ? [{ head: 'of what', text: true, cell: (r) => (fact.effects.find((e) => e.effect === r.c.effect) || {}).name }] : []),
    { head: 'slowdown', cell: (r) => el('b', {}, numberText(r.fact.slowdown)) },
    { head: 'PCost', title: 'Qian & Wang 2006: the sum over the spans of (d\u2032 \u2212 d) / (d\u2032 + d)', cell: (r) => numberText(r.fact.pcost) },
    { head: 'seen from', title: 'the slowdown that would have been told apart, four times in five', cell: (r) => (r.fact.smallest ? numberText(r.fact.smallest) : '\u2013') },
    { head: 'blocks', cell: (r) => count(r.c.blocks) },
    { head: 'outcome', text: true, cell: (r) => r.fact.outcome },
    { head: 'beside', text: true, wide: true, cell: (r) => r.fact.beside },
  ], rows);
}

function costTrials(context) {
  return [eachBenchmark(context, (benchmark, fact, place) => trialParts(context.facts, benchmark, fact, place))];
}

function trialParts(facts, benchmark, fact, place) {
  return el('div', {}, fact.notes.map((text) => el('p', { class: 'plain' }, capital(text))),
    benchmark.trials.length > 0 ? [trialChart(facts, benchmark, fact, place), spreadTable(fact),
      lazyDetails('each trial', () => costTrialTable(facts, benchmark))] : note('No trial was finished.'),
    fact.failures.length > 0 && el('ul', { class: 'reasons degraded' }, fact.failures.map((text) => el('li', {}, capital(text)))),
    benchmark.absent.length > 0 && el('div', {}, subtitle('What could not be measured'), el('ul', { class: 'differences' }, benchmark.absent.map((text) => el('li', {}, text)))));
}

// Block by block, so that drift is seen: it is the same for all of a block.
function trialChart(facts, benchmark, fact, place) {
  const trials = benchmark.trials.map((t, i) => ({ ...t, beyond: fact.trials[i] })).sort((a, b) => a.index - b.index);
  const used = [...new Set(trials.map((t) => t.condition))].sort((a, b) => a - b);
  const series = used.map((condition) => ({ label: conditionName(facts, condition), group: 'condition ' + condition, groupName: conditionName(facts, condition),
    colour: conditionColour(condition), look: 'dots', values: trials.map((t) => (t.condition === condition && isNumber(t.beyond) ? t.beyond : null)) }))
    .filter((s) => s.values.some(isNumber));
  const number = (v) => (Number.isInteger(v) && trials[v - 1] ? String(trials[v - 1].index + 1) : '');
  return chart({ id: 'cost-trials-' + place, title: 'Each trial beside the mean of “' + conditionName(facts, used[0]) + '”', quantity: SLOWDOWN, height: 280, series,
    xs: trials.map((_, i) => i + 1), bands: blockBands(trials), over: (u) => drawLevelLine(u, 0), tabled: () => costTrialTable(facts, benchmark),
    x: { label: 'trial', head: 'trial', tick: number, read: (v) => 'trial ' + number(v), cell: number,
      splits: (u) => spacedOut(u, trials.map((_, i) => i + 1), 'x', 34) },
    about: 'The time of each trial in the order in which they ran; blocks are shaded in turn.' });
}

// Every second block is shaded.
function blockBands(trials) {
  const bands = [];
  trials.forEach((t, i) => {
    const last = bands[bands.length - 1];
    if (last && last.block === t.block) last.to = i + 1.5;
    else bands.push({ block: t.block, from: i + 0.5, to: i + 1.5, label: '', shaded: bands.length % 2 === 1 });
  });
  return bands;
}

function spreadTable(fact) {
  return table('Trials by condition', [
    { head: 'condition', text: true, cell: (s) => s.condition },
    { head: 'trials', cell: (s) => count(s.trials) },
    { head: 'shortest', cell: (s) => (s.times ? s.times[0] : NOT_KNOWN) },
    { head: 'mean', cell: (s) => el('b', {}, s.times ? s.times[1] : NOT_KNOWN) },
    { head: 'longest', cell: (s) => (s.times ? s.times[2] : NOT_KNOWN) },
    { head: 'failed', cell: (s) => count(s.failed) },
  ], fact.spreads);
}

function costTrialTable(facts, benchmark) {
  const known = (value, read) => (isNumber(value) ? read(value) : '\u2013');
  const program = (t, key, read) => known(t.program && t.program[key], read);
  return table('Trials', [
    { head: 'trial', cell: (t) => count(t.index + 1) },
    { head: 'block', cell: (t) => count(t.block + 1) },
    { head: 'condition', text: true, cell: (t) => conditionName(facts, t.condition) },
    { head: 'time', cell: (t) => (t.failed === null ? time(t.total_ns) : NOT_KNOWN) },
    { head: 'program there', cell: (t) => program(t, 'present', (v) => percent(v)) },
    { head: 'its processor time', cell: (t) => program(t, 'cpu_ns', time) },
    { head: 'its memory', cell: (t) => program(t, 'peak_rss_bytes', bytes) },
    { head: 'its output', cell: (t) => program(t, 'output_bytes', bytes) },
    { head: 'started', cell: (t) => program(t, 'starts', count) },
    { head: '', text: true, cell: (t) => [t.failed, t.program && t.program.killed && 'the program was killed'].filter(Boolean).join('; ') },
  ], [...benchmark.trials].sort((a, b) => a.index - b.index));
}
