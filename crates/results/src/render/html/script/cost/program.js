// What the program uses itself, beside what it takes from others.

function costProgram({ result, facts }) {
  const parts = facts.program.length ? [ownBars(result, facts), lazyDetails('as a table', () => ownTable(result, facts)),
    note('100 % is one processor. What it takes is the slowdown of the benchmark: a program may take much more than it uses.')] : [];
  return [...parts, facts.program_notes.length > 0 && el('ul', { class: 'reasons degraded' }, facts.program_notes.map((text) => el('li', {}, capital(text) + '.')))];
}

function ownBars(result, facts) {
  const series = (name, pick) => {
    const numbers = facts.program.map(pick);
    return { name, here: true, numbers, points: numbers.map((n, x) => ({ x, label: facts.program[x].name, y: n && isNumber(n.value) ? n.value * 100 : null,
      half_width: n && isNumber(n.half) ? n.half * 100 : null })) };
  };
  const all = [series('uses of a processor', (p) => p.processors), ...result.benchmarks.map((b, i) => series('takes from ' + b.name, (p) => p.takes[i]))];
  return barsFigure({ title: 'What it uses itself, and what it takes', y: '%', x: 'condition', series: all },
    all.map((s) => s.numbers.map((n) => n && { value: n.text })));
}

function ownTable(result, facts) {
  return table('What the program uses', [
    { head: 'condition', text: true, cell: (p) => p.name },
    { head: 'of a processor', cell: (p) => numberText(p.processors) },
    { head: 'memory, at most', cell: (p) => p.memory },
    ...result.benchmarks.map((b, i) => ({ head: 'takes from ' + b.name, cell: (p) => (p.takes[i] ? numberText(p.takes[i]) : '\u2013') })),
  ], facts.program);
}
