// Stalls that were recognised: as it was, and each remedy beside it.

function messageRemedies({ result, facts }) {
  return result.remedies.map((r, i) => remedied(r, facts.remedies[i]));
}

function remedied(stall, fact) {
  const rows = stall.rows.map((row, i) => ({ ...row, name: fact.layers[i], there: row.times.n > 0 }));
  const head = el('h3', {}, el('code', {}, fact.layer), ' with ' + sizeText(stall.bytes) + ' on ' + fact.pair + ': ' + fact.stall);
  const scale = logScale(rows.filter((r) => r.there).flatMap((r) => [r.times.p50_ns, r.times.p99_ns]));
  const picture = scale ? [colourKey([['median', 'tx'], ['99\u00a0%', 'planned']]),
    el('ol', { class: 'bars' }, rows.map((r) => remedyBars(r, scale))), logRuler(scale, tickTime),
    note('The scale is logarithmic and does not begin at zero.')] : [note('No time was measured: there is nothing to draw.')];
  return el('article', { class: 'remedied' }, head, picture, remedyTable(rows));
}

function remedyBars(row, scale) {
  const bar = (name, value, paint) => logBar({ name, value, paint, text: row.there ? time(value) : NOT_KNOWN }, scale);
  return el('li', { 'aria-label': row.remedy }, el('p', {}, el('b', {}, row.name), ' ', el('small', {}, row.remedy), ' ', stallMark(row)),
    row.there ? [bar('median', row.times.p50_ns, 'tx'), bar('99\u00a0%', row.times.p99_ns, 'planned')] : note('no time was measured'));
}

function stallMark(row) {
  return row.gone ? el('span', { class: 'mark valid' }, 'the stall is gone') : el('span', { class: 'mark void' }, 'it stalls');
}

function remedyTable(rows) {
  const was = rows[0];
  const of = (row, ns) => (row.there ? time(ns) : NOT_KNOWN);
  return table('As it was, and each remedy', [
    { head: 'layer', text: true, cell: (r) => el('code', {}, r.name) },
    { head: 'what was done', text: true, wide: true, cell: (r) => r.remedy },
    { head: 'median', cell: (r) => el('b', {}, of(r, r.times.p50_ns)) },
    { head: '99\u00a0%', cell: (r) => of(r, r.times.p99_ns) },
    { head: 'largest', cell: (r) => of(r, r.times.max_ns) },
    { head: 'times as fast', title: 'the median as it was, divided by this one',
      cell: (r) => (r.there && was.there && r.times.p50_ns > 0 ? eachText(was.times.p50_ns / r.times.p50_ns) : NOT_KNOWN) },
    { head: 'delayed acks', title: 'acknowledgements that were put off until their timer ran out, a message', cell: (r) => eachText(r.delayed_acks_per_message) },
    { head: 'times', cell: (r) => count(r.times.n) },
    { head: '', text: true, cell: stallMark },
  ], rows);
}
