// Blocks of a page. No name of a measurement stands here.

const LOG_BITS = { label: 'bits a second, logarithmic', tick: shortRate, read: (v) => inUnits(BIT_RATE, v), log: true, gap: 11 };
const LOG_RATES = { label: 'a second, logarithmic', tick: shortRate, read: rate, log: true, gap: 6 };
const LOG_BYTES = { label: 'bytes a second, logarithmic', tick: inTicks(BYTE_RATE), read: (v) => inUnits(BYTE_RATE, v), log: true, gap: 6 };
const SHARES = { label: '%', tick: (v) => trueMinus(trimZeros(v * 100)), read: percent };
const BITS = { label: 'bits a second', tick: shortRate, read: (v) => inUnits(BIT_RATE, v) };
const IN_BYTES = { label: 'bytes', tick: shortRate, read: (v) => count(v) + '\u00a0bytes' };

// A round number, as it stands beside a tick, and one that is read.
const roundNumber = (v) => (Math.abs(v) >= 1e4 ? trueMinus(shortRate(v)) : trueMinus(trimZeros(v)));
const plainNumber = (v) => (Math.abs(v) >= 1e4 ? grouped(v, 0) : trueMinus(trimZeros(v)));
const NUMBER = { tick: roundNumber, read: plainNumber };
const numberAxis = (label) => ({ label, head: label, tick: roundNumber, read: (v) => 'at ' + plainNumber(v), cell: plainNumber });
const whole = (v) => (Number.isInteger(v) ? String(v) : '');
const numbered = (what) => ({ label: what, head: what, tick: whole, cell: whole, read: (v) => what + ' ' + v });

// A multiple as what it is more or less; from doubling on as itself.
const changeBy = (v) => (v >= 2 ? '× ' + plainNumber(v) : v === 1 ? 'no change' : (v > 1 ? '+' : '') + percent(v - 1));

const AXES = {
  bit_rate: { quantity: BITS },
  log_bit_rate: { quantity: LOG_BITS },
  bytes: { quantity: IN_BYTES },
  log_rate: { quantity: LOG_RATES, ...LOG_RATES },
  log_byte_rate: { quantity: LOG_BYTES, ...LOG_BYTES },
  ratio: { tick: (v) => changeBy(Math.exp(v)), read: (v) => changeBy(Math.exp(v)) },
  share: { quantity: SHARES, tick: (v) => SHARES.tick(v) + '\u00a0%', read: percent },
  run: { x: TIME_X },
  trial: { x: numbered('trial') },
  round: { x: numbered('round') },
  percentile: { x: PERCENTILE_X },
  log_time: { quantity: LOG_TIMES, x: LOG_TIME_X, tick: tickTime, read: time },
  number: NUMBER,
  log_number: { ...NUMBER, log: true },
  time: { tick: tickTime, read: time },
  rate: { quantity: RATES, x: RATE_X, tick: shortRate, read: rate },
};

const BLOCKS = {
  gap: () => null,
  text: (block) => el('p', {}, prose(block.text)),
  note: (block) => note(prose(block.text)),
  labelled: (block) => el('p', {}, el('span', { class: 'mark ' + MARKS[block.style] }, block.label.trim()), ' ', prose(block.text)),
  aside: (block) => el('dl', { class: 'sides' }, el('dt', {}, block.name), el('dd', {}, prose(block.text))),
  table: (block, title) => blockTable(block, title),
  bars: (block) => blockBars(block),
  chart: (block) => blockChart(block),
  waterfall: (block) => blockWaterfall(block),
  samples: (block) => blockSamples(block),
  details: (block) => lazyDetails(block.summary, () => blocksOf(block.blocks, block.summary)),
  nested: ({ id, summary, page }) => lazyDetails(summary, () => inScope(id + '-',
    () => el('div', { class: 'whole' }, storySections(page).map((part) => section({}, part, 'h4'))))),
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
    list.append(el('li', {}, prose(block.text), block.details.length > 0 && el('ul', {}, block.details.map((d) => el('li', {}, prose(d))))));
  }
  return nodes;
}

function blockChart(block) {
  const series = block.series.map((s) => ({ ...s, colour: s.color, look: s.look.replaceAll('_', '-'), joined: Boolean(s.marks || s.joined) }));
  const x = block.x === 'named' ? namedAxis(block) : block.x === 'number' ? numberAxis(block.x_label) : AXES[block.x].x;
  const quantity = block.y_label ? { ...AXES[block.y], label: block.y_label } : AXES[block.y].quantity;
  const log = quantity && quantity.log;
  const marks = series.flatMap((s) => s.marks || []).filter(Boolean);
  const ends = marks.flatMap((m) => m.ends).filter((v) => isNumber(v) && (v > 0 || !log));
  return [block.key && colourKey(block.key.map(([name, color, shape]) => [name, color, 'shape ' + shape])),
    chart({ ...block, x, quantity, series, reach: ends.length ? [smallest(ends), largest(ends)] : null,
      over: (u) => {
        // What lies below zero has a line to lie below.
        if (!log && u.scales.y.min < 0) drawLevelLine(u, 0);
        drawMarks(u, series);
      } }),
    block.note && note(block.note)];
}

function storySections(page) {
  const slug = (title) => title.toLowerCase().replace(/[^a-z0-9]+/g, '-').slice(0, 60);
  return page.sections.map((s, i) => ['s' + i + '-' + slug(s.title), s.title, () => blocksOf(s.blocks, s.title)]);
}

function blockTable(block, title) {
  const columns = block.columns.map((column, i) => ({ head: column.head, title: column.about, text: column.align === 'left', wraps: column.wraps,
    cell: (row) => (i === row.cells.length && row.across ? row.across : blockCell(row.cells[i])) }));
  const rows = block.rows.map((row) => ({ ...row, rowClass: row.strong ? 'strong' : null }));
  // On a small screen text in the last column would be out of sight: names go first, and bars beside their figures go.
  const last = columns.length - 1;
  const isSmall = last > 0 && rows.length > 0 && matchMedia('(max-width: 600px)').matches;
  const named = (i) => columns[i].text && block.rows.every((row) => typeof (row.cells[i] ?? (i === row.cells.length && row.across)) === 'string');
  const drawn = (i) => block.rows.every((row) => row.cells[i]?.bar !== undefined);
  const barless = isSmall && named(0);
  const shown = columns.filter((_, i) => !barless || !drawn(i));
  if (isSmall && !barless && named(last)) {
    shown.unshift({ ...shown.pop(), wide: true });
    for (const row of rows.filter((row) => row.across)) Object.assign(row, { cells: [...row.cells, row.across], across: null });
  }
  return table(title, shown, rows, rows.length + block.left_out);
}

function blockCell(cell) {
  if (cell === undefined || typeof cell === 'string') return cell || '';
  if (cell.half !== undefined) return [cell.value, ' ', el('small', {}, '±\u00a0' + cell.half)];
  if (cell.style) return el('span', { class: 'mark ' + MARKS[cell.style], title: cell.why || null }, cell.text);
  const track = el('span', { class: 'cellbar' });
  track.style.width = 'calc(' + Math.max(0, Math.min(1, cell.bar || 0)) + ' * var(--longest))';
  return track;
}

function blockBars({ title, unit, from_zero, key, reference, whiskers, groups }) {
  const bars = groups.flatMap((g) => g.bars);
  const { tick, read } = AXES[unit];
  const scaled = [...bars.flatMap((b) => [b.value, ...(b.ends || []), b.band, -b.band]), reference && reference[1]];
  const scale = (from_zero ? zeroScale : logScale)(scaled);
  if (!scale) return note('There is nothing to draw.');
  const entries = key.map(([name, color]) => [name, color]);
  if (reference) entries.push([reference[0] + ': ' + read(reference[1]), 'lag', 'dashed']);
  const line = (bar) => {
    const node = scaledBar(bar, scale);
    if (reference) node.querySelector('.track').append(spanned(el('span', { class: 'inferred' }), scale.at(reference[1]), null));
    return node;
  };
  return el('figure', { class: 'chart' }, title && el('figcaption', {}, el('b', {}, title)), entries.length > 0 && colourKey(entries),
    el('ol', { class: 'bars' }, groups.map((g) => el('li', { 'aria-label': g.name || title },
      g.name && el('p', {}, el('b', {}, g.name), ' ', g.mark && blockCell(g.mark)), g.bars.map(line)))),
    rulerOf(scale, tick), note(!from_zero && 'The scale is logarithmic and does not begin at zero. ',
      bars.some((b) => b.ends) && 'Whiskers are ' + (whiskers || '95 % intervals') + '. ', bars.some((b) => b.is_chance) && 'What is hatched is not significant. ',
      bars.some((b) => isNumber(b.band)) && 'Grey: below the minimum detectable change (80 % power).'));
}
