// Base sequences: when each mark was reached in each condition, and how far behind the first one it was.

function costSequences(context) {
  return [eachBenchmark(context, (benchmark, fact, place) => sequenceCharts(context.facts, benchmark, fact, place)),
    note('Means of the trials that count. A line that leaves the others shows where time is lost.')];
}

function sequenceCharts(facts, benchmark, fact, place) {
  const sequences = fact.sequences.filter((s) => s.marks_ns.every(isNumber));
  if (!sequences.length) return note(benchmark.name + ': no whole base sequence was taken.');
  const look = (s) => ({ label: conditionName(facts, s.condition), group: 'condition ' + s.condition, groupName: conditionName(facts, s.condition),
    colour: conditionColour(s.condition), look: 'strong', marked: true, joined: true });
  const tabled = () => sequenceTable(facts, benchmark, sequences);
  return columnsOf([markTimes(benchmark, sequences, look, tabled, place), behindFirst(facts, benchmark, sequences, look, tabled, place)]);
}

// As the paper draws them: time to the right, mark by mark.
function markTimes(benchmark, sequences, look, tabled, place) {
  const named = sequences.map((s) => ({ s, points: s.marks_ns.map((x, y) => ({ x, y })) }));
  const { xs, laid } = commonAxis(named);
  const mark = (v) => (Number.isInteger(v) && benchmark.marks[v] !== undefined ? benchmark.marks[v] : '');
  return chart({ id: 'cost-marks-' + place, title: 'Marks of ' + benchmark.name, height: Math.min(480, Math.max(260, benchmark.marks.length * 28)), xs, tabled,
    series: named.map(({ s, points }) => ({ ...look(s), values: laid(points, (p) => p.y) })),
    quantity: { label: 'mark', tick: (v) => shortName(mark(v), 12), read: (v) => mark(v) || NOT_KNOWN, zero: true, size: 84, splits: (u) => spacedOut(u, named[0].points.map((p) => p.y), 'y', MARK_APART.y) },
    x: { label: 'time since the first mark', head: 'time', tick: tickTime, read: (v) => 'at ' + time(v), cell: time },
    about: 'Each mark at the mean time at which it was reached, a line for each condition.' });
}

function behindFirst(facts, benchmark, sequences, look, tabled, place) {
  const [first, ...others] = sequences;
  if (!others.length) return note('There is nothing to compare with.');
  const xs = first.marks_ns.map((_, i) => i);
  const mark = (v) => (Number.isInteger(v) && benchmark.marks[v] !== undefined ? benchmark.marks[v] : '');
  return chart({ id: 'cost-behind-' + place, title: 'Behind “' + conditionName(facts, first.condition) + '”', height: Math.min(480, Math.max(260, benchmark.marks.length * 28)), xs, tabled,
    series: others.map((s) => ({ ...look(s), values: s.marks_ns.map((ns, i) => ns - first.marks_ns[i]) })), quantity: COST_TIME,
    x: { label: 'mark', head: 'mark', tick: (v) => shortName(mark(v), 8), read: (v) => 'at ' + mark(v), cell: mark, splits: (u) => spacedOut(u, xs, 'x', MARK_APART.x) },
    about: 'How much later than in the first condition each mark was reached.', over: (u) => drawLevelLine(u, 0) });
}

// Names of marks that are nearer to each other would touch.
const MARK_APART = { x: 64, y: 16 };

// The end of a name, or of a path, says more than its beginning.
function shortName(text, longest) {
  const name = String(text).split('/').pop() || String(text);
  return name.length > longest ? '\u2026' + name.slice(1 - longest) : name;
}

function sequenceTable(facts, benchmark, sequences) {
  return table('Times of marks', [
    { head: 'mark', text: true, cell: (r) => r.name },
    ...sequences.map((s) => ({ head: conditionName(facts, s.condition), cell: (r) => time(s.marks_ns[r.i]) })),
  ], benchmark.marks.map((name, i) => ({ name, i })));
}
