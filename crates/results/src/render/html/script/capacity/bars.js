// `netfathom capacity`: each engine and number of workers as three bars on one scale.

const CAPACITIES = [
  { name: 'sustained', key: 'sustained_per_s', paint: 'tx', title: 'the highest rate that was kept up, under 0.1 % lost and within 0.1 % of the plan (or 1 ms of its end)' },
  { name: 'sleeping', key: 'blocking_per_s', paint: 'rx', title: 'the same with an ordinary receiver: one recv call a message, asleep until one comes' },
  { name: 'capacity', key: 'capacity_per_s', paint: 'call', title: 'sustained, and the messages left when they should' },
  { name: 'flat out', key: 'flat_out_per_s', paint: 'planned', title: 'left in bursts without a schedule, whatever became of them' },
];

function rowName(row) {
  return words(row.engine) + ', ' + counted(row.workers, 'worker');
}

function boundedRate(bounded) {
  return bounded ? rate(bounded.mean_per_s, bounded.half_width_per_s) : NOT_KNOWN;
}

function capacityGlance({ result }) {
  const best = (key) => result.rows.filter((r) => r[key]).sort((a, b) => b[key].mean_per_s - a[key].mean_per_s)[0];
  const cardOf = (kind, title, key, small) => {
    const row = best(key);
    if (!row) return card({ kind, title, big: 'none', small: 'no rate that was tried', rows: [] });
    const [big, half] = bigAndHalf(RATE, row[key].mean_per_s, row[key].half_width_per_s);
    return card({ kind, title, big, aside: half || 'no interval below three searches',
      small, rows: [['engine', words(row.engine)], ['workers', count(row.workers)], ['of', counted(row[key].n, 'search')]] });
  };
  if (!result.rows.length) return [note('No engine was searched: there is nothing to sum up.')];
  const cards = [cardOf('tx', 'Sustained', 'sustained_per_s', 'the most that was kept up, however unevenly'),
    cardOf('rx', 'Sleeping receiver', 'blocking_per_s', 'the same with a receiver that sleeps until a message comes'),
    cardOf('call', 'On schedule', 'capacity_per_s', 'the most that left when it should, and arrived')];
  if (result.inferred) cards.push(inferredCard(result.inferred));
  return [cardsOf(cards)];
}

function inferredCard(inferred) {
  return card({ kind: 'lag', title: 'Inferred', big: rate(inferred.theoretical_per_s), aside: '1 / stack time',
    small: 'what the paper would say of this machine' + (inferred.verdict.level === 'VOID' ? '; that measurement is VOID' : ''),
    rows: [['mean at peak', time(inferred.peak.mean_ns)], ['at', rate(inferred.at_per_s)], ['tap', words(inferred.tap)]] });
}

function capacityBars({ result }) {
  if (!result.rows.length) return [note('No engine was searched.')];
  const scale = rateScale(result);
  if (!scale) return [note('No rate was reached by any engine.')];
  const inferred = result.inferred && result.inferred.theoretical_per_s;
  const key = CAPACITIES.map((c) => [c.name, c.paint]);
  if (inferred) key.push(['inferred from the stack time: ' + rate(inferred), 'lag', 'dashed']);
  return [colourKey(key), el('ol', { class: 'bars' }, result.rows.map((r) => barGroup(r, scale, inferred))), rateRuler(scale),
    note('The scale is logarithmic and does not begin at zero. Whiskers are 95 % intervals between the searches.')];
}

function barGroup(row, scale, inferred) {
  return el('li', { 'aria-label': rowName(row) }, el('p', {}, el('b', {}, words(row.engine)), ' ', el('small', {}, counted(row.workers, 'worker')), ' ',
    row.verdict.level === 'VALID' ? null : verdictMark(row.verdict)),
  CAPACITIES.map((c) => rateBar(c, row[c.key], scale, inferred)));
}

function rateBar(c, bounded, scale, inferred) {
  const track = el('span', { class: 'track' });
  if (inferred) track.append(spanned(el('span', { class: 'inferred' }), scale.at(inferred), null));
  if (bounded) {
    const bar = spanned(el('span', { class: 'bar' }), 0, scale.at(bounded.mean_per_s));
    bar.style.setProperty('--c', 'var(--' + c.paint + ')');
    track.prepend(bar);
    const half = bounded.half_width_per_s;
    if (half > 0) {
      const low = scale.at(Math.max(bounded.mean_per_s - half, scale.low));
      track.append(spanned(el('span', { class: 'whisker' }), low, scale.at(bounded.mean_per_s + half) - low));
    }
  }
  return el('div', { class: 'bounded' }, el('span', { class: 'what', title: c.title }, c.name), track,
    el('span', { class: 'value' }, bounded ? boundedRate(bounded) : 'none'));
}

function spanned(node, left, width) {
  node.style.left = Math.min(Math.max(left, 0), 100) + '%';
  if (width !== null) node.style.width = Math.max(Math.min(width, 100 - left), 0.2) + '%';
  return node;
}

function rateScale(result) {
  const values = result.rows.flatMap((r) => CAPACITIES.map((c) => r[c.key]).filter(Boolean))
    .flatMap((b) => [b.mean_per_s, b.mean_per_s + (b.half_width_per_s || 0)]).filter((v) => v > 0);
  if (!values.length) return null;
  if (result.inferred) values.push(result.inferred.theoretical_per_s);
  const low = 10 ** Math.floor(Math.log10(smallest(values) / 1.5));
  const high = largest(values) * 1.1;
  return { low, high, at: (v) => Math.log10(v / low) / Math.log10(high / low) * 100 };
}

function rateRuler(scale) {
  const axis = el('div', { class: 'ruler', 'aria-hidden': 'true' });
  for (const v of decades(scale.low, scale.high)) {
    // A tick at the very edge would reach out of the page.
    if (scale.at(v) > 96) continue;
    const tick = el('span', {}, shortRate(v));
    tick.style.left = scale.at(v) + '%';
    axis.append(tick);
  }
  return el('div', { class: 'rulerrow rates' }, axis);
}
