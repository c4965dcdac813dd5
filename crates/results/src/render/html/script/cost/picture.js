// The slowdown over the load, a line an effect; without loads, each with its interval beside nothing.

function costPicture(context) {
  const { result, facts } = context;
  if (!facts.benchmarks.some((b) => b.comparisons.length)) return [note('Nothing was compared: there is nothing to draw.')];
  const atLevels = (b) => b.comparisons.some((c) => c.level !== null);
  if (facts.levels.length > 1 && facts.benchmarks.some(atLevels)) {
    const apart = { name: 'loads equally apart', build: () => levelCharts(context, { ...facts, by_rate: false }, 'cost-apart-') };
    const linear = { name: 'loads as they are', build: () => levelCharts(context, facts, 'cost-') };
    return [choice('scale of the load', facts.by_rate ? [linear, apart] : [apart]), note('Whiskers are 95 % intervals between blocks.')];
  }
  const rows = result.benchmarks.flatMap((b, i) => b.comparisons.map((c, k) => slowdownRow(b, c, facts.benchmarks[i].comparisons[k])));
  const bands = rows.some((r) => isNumber(r.seen));
  return [el('figure', { class: 'chart' }, el('figcaption', {}, el('b', {}, 'How much longer the benchmark takes')), shareForest(rows),
    lazyDetails('as a table', () => result.benchmarks.map((b, i) => [subtitle(b.name), slowdownTable(b, facts.benchmarks[i], () => true)]))),
    note(rows.some((r) => r.number && isNumber(r.number.half)) ? 'Whiskers are 95 % intervals between blocks. '
      : 'Single runs: they have no interval, and nothing is told from chance. ',
    bands && 'Within the grey band a slowdown would not have been told apart, four times in five. ', 'What is not told from chance is hatched.')];
}

function slowdownRow(benchmark, comparison, fact) {
  return { name: benchmark.name + ': ' + fact.row, title: fact.said, number: fact.slowdown, seen: comparison.smallest,
    told: comparison.outcome === 'cost' || comparison.outcome === 'faster', paint: EFFECT_COLOURS[comparison.effect] };
}

function levelCharts({ result }, facts, id) {
  const lines = facts.benchmarks.map((fact, i) => levelLines(result.benchmarks[i], fact, facts));
  const ends = lines.flatMap((series) => series.flatMap((s) => s.values.flatMap((v, i) => [v, v - (s.halves[i] || 0), v + (s.halves[i] || 0)]))).filter(isNumber);
  const reach = ends.length ? [smallest(ends), largest(ends)] : null;
  const drawn = result.benchmarks.map((b, i) => ({ b, i, series: lines[i] })).filter(({ series }) => series.length);
  return columnsOf(drawn.map(({ b, i, series }) => chart({ id: id + i, title: 'Slowdown of ' + b.name, quantity: SLOWDOWN, height: 320, series, reach,
    xs: levelPlaces(facts), x: levelAxis(facts), about: 'How much longer the benchmark takes over the load, a line for each effect.',
    tabled: () => slowdownTable(b, facts.benchmarks[i], () => true),
    over: (u) => { drawLevelLine(u, 0); drawHalves(u, series); } })));
}

// A load of nothing lies at zero.
function levelPlaces(facts) {
  const places = facts.levels.map((l, i) => (facts.by_rate ? l.bits_per_s : i));
  return [...new Set(places)].sort((a, b) => a - b);
}

function levelLines(benchmark, fact, facts) {
  const xs = levelPlaces(facts);
  return fact.effects.filter((e) => e.effect !== 'observation').map((e) => {
    const at = xs.map((x) => fact.comparisons.find((c, k) => benchmark.comparisons[k].effect === e.effect && c.level !== null
      && (facts.by_rate ? facts.levels[c.level].bits_per_s : c.level) === x) || null);
    const pick = (read) => at.map((c) => (c && isNumber(read(c.slowdown)) ? read(c.slowdown) : null));
    return { label: e.name, title: e.about, colour: EFFECT_COLOURS[e.effect], look: 'strong', marked: true, joined: true,
      values: pick((n) => n.value), halves: pick((n) => n.half) };
  }).filter((s) => s.values.some(isNumber));
}

const LEVEL_APART = 40;

function levelAxis(facts) {
  const xs = levelPlaces(facts);
  const near = (v) => facts.levels.find((l, i) => (facts.by_rate ? l.bits_per_s : i) === v);
  const name = (v) => (near(v) ? near(v).text : '');
  // Names of loads are the user's own and may be long.
  const short = (v) => (name(v).length > 8 ? name(v).slice(0, 7).trim() + '\u2026' : name(v));
  const splits = (u) => spacedOut(u, xs, 'x', LEVEL_APART);
  return { label: facts.by_rate ? 'load, bits a second' : 'load', head: 'load', tick: short, cell: name, read: (v) => 'at ' + name(v), splits };
}
