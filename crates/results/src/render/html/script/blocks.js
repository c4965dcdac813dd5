// Blocks of a page. No name of a measurement stands here.

const LOG_BITS = { label: 'bits a second, logarithmic', tick: shortRate, read: (v) => inUnits(BIT_RATE, v), log: true, gap: 11 };
const BITS = { label: 'bits a second', tick: shortRate, read: (v) => inUnits(BIT_RATE, v), zero: true };
const IN_BYTES = { label: 'bytes', tick: shortRate, read: (v) => count(v) + '\u00a0bytes', zero: true };

const AXES = {
  bit_rate: { quantity: BITS },
  log_bit_rate: { quantity: LOG_BITS },
  bytes: { quantity: IN_BYTES },
  run: { x: TIME_X },
  percentile: { x: PERCENTILE_X },
  log_time: { kind: 'log-time' },
  time: { kind: 'time', tick: tickTime, read: time },
  rate: { x: RATE_X, kind: 'rate', tick: shortRate, read: rate },
};

const BLOCKS = {
  gap: () => null,
  text: (block) => el('p', {}, block.text),
  note: (block) => note(block.text),
  labelled: (block) => el('p', {}, el('span', { class: 'mark ' + MARKS[block.style] }, block.label.trim()), ' ', block.text),
  aside: (block) => pairs([[block.name, block.text]]),
  table: (block, title) => blockTable(block, title),
  bars: (block) => blockBars(block),
  chart: (block) => blockChart(block),
  details: (block) => lazyDetails(block.summary, () => blocksOf(block.blocks, block.summary)),
  choice: (block, title) => choice(block.label, block.options.map(([name, blocks]) => ({ name, build: () => blocksOf(blocks, title + ', ' + name) }))),
};

const MARKS = { plain: '', strong: '', good: 'valid', warning: 'degraded', bad: 'void', faint: 'doubt' };

// Entries of a list that follow on each other are one list.
function blocksOf(blocks, title) {
  const nodes = [];
  for (const block of blocks) {
    if (block.block !== 'item') {
      nodes.push(BLOCKS[block.block](block, title));
      continue;
    }
    const last = nodes[nodes.length - 1];
    const list = last instanceof Node && last.matches('ul.items') ? last : el('ul', { class: 'items' });
    if (list !== last) nodes.push(list);
    list.append(el('li', {}, block.text, block.details.length > 0 && el('ul', {}, block.details.map((d) => el('li', {}, d)))));
  }
  return nodes;
}

function blockChart(block) {
  const series = block.series.map((s) => ({ ...s, colour: s.color, look: s.look.replaceAll('_', '-'), joined: Boolean(s.marks) }));
  const ends = series.flatMap((s) => s.marks || []).filter(Boolean).flatMap((m) => m.ends).filter((v) => v > 0);
  const x = block.x === 'named' ? namedAxis(block) : AXES[block.x].x;
  const { kind, quantity } = AXES[block.y];
  return [block.key && colourKey(block.key.map(([name, color, shape]) => [name, color, 'shape ' + shape])),
    chart({ ...block, x, kind, quantity, series, reach: ends.length ? [smallest(ends), largest(ends)] : null,
      over: ends.length ? (u) => drawMarks(u, series) : null }),
    block.note && note(block.note)];
}

function storySections(page) {
  const slug = (title) => title.toLowerCase().replace(/[^a-z0-9]+/g, '-').slice(0, 60);
  return page.sections.map((s, i) => ['s' + i + '-' + slug(s.title), s.title, () => blocksOf(s.blocks, s.title)]);
}

function blockTable(block, title) {
  const columns = block.columns.map((column, i) => ({ head: column.head, title: column.about, text: column.align === 'left',
    cell: (row) => (i === row.cells.length && row.across ? row.across : blockCell(row.cells[i])) }));
  const rows = block.rows.map((row) => ({ ...row, rowClass: row.strong ? 'strong' : null }));
  return table(title, columns, rows, rows.length + block.left_out);
}

function blockCell(cell) {
  if (cell === undefined || typeof cell === 'string') return cell || '';
  if (cell.half !== undefined) return [cell.value, ' ', el('small', {}, '±\u00a0' + cell.half)];
  if (cell.style) return el('span', { class: 'mark ' + MARKS[cell.style], title: cell.why || null }, cell.text);
  const track = el('span', { class: 'cellbar' });
  track.style.width = Math.max(0, Math.min(1, cell.bar || 0)) * 100 + '%';
  return track;
}

function blockBars({ unit, key, reference, groups }) {
  const bars = groups.flatMap((g) => g.bars);
  const { tick, read } = AXES[unit];
  const scale = logScale([...bars.flatMap((b) => [b.value, b.ends && b.ends[1]]), reference && reference[1]]);
  if (!scale) return note('There is nothing to draw.');
  const entries = key.map(([name, color]) => [name, color]);
  if (reference) entries.push([reference[0] + ': ' + read(reference[1]), 'lag', 'dashed']);
  const line = (bar) => {
    const node = logBar({ name: bar.name, title: bar.about, value: bar.value, ends: bar.ends, text: bar.text, paint: bar.color }, scale);
    if (reference) node.querySelector('.track').append(spanned(el('span', { class: 'inferred' }), scale.at(reference[1]), null));
    return node;
  };
  return el('div', {}, colourKey(entries),
    el('ol', { class: 'bars' }, groups.map((g) => el('li', { 'aria-label': g.name },
      el('p', {}, el('b', {}, g.name), ' ', g.mark && blockCell(g.mark)), g.bars.map(line)))),
    logRuler(scale, tick), note('The scale is logarithmic and does not begin at zero. Whiskers are 95 % intervals.'));
}
