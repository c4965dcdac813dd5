// `netfathom reproduce`: what the source says, its tables with our rows beside its own, and what
// differs.

const HOLDS = {
  yes: ['holds', 'valid'],
  no: ['does not hold', 'void'],
  cannot_tell: ['cannot tell', 'degraded'],
};

function claimList({ result }) {
  if (!result.claims.length) return [note('No claim of the source was judged.')];
  return [el('ol', { class: 'claims' }, result.claims.map(claimPart))];
}

function claimPart(claim) {
  const [name, kind] = HOLDS[claim.holds] || [words(claim.holds), 'degraded'];
  return el('li', { class: kind }, el('p', { class: 'says' }, el('span', { class: 'badge ' + kind }, name), ' ', claim.says),
    el('dl', { class: 'sides' }, el('div', {}, el('dt', {}, 'there'), el('dd', {}, claim.there)),
      el('div', { class: 'here' }, el('dt', {}, 'here'), el('dd', {}, claim.here))));
}

// More rows than these are folded; ours stay open, for the source's are in print.
const MOST_ROWS = 40;

function besideTables({ result, facts }) {
  if (!result.tables.length) return [note('The source has no table that was measured here.')];
  return result.tables.map((t, i) => besidePart(t, facts.tables[i] || []));
}

function besidePart(t, columns) {
  const rows = t.rows.map((row, i) => ({ row, i, rowClass: row.here ? 'here' : null }));
  const draw = (some) => el('div', { class: 'compared' }, table(t.title, [
    { head: '', cell: (r) => r.row.who },
    ...t.columns.map((head, k) => ({ head, cell: (r) => besideCell((columns[k] || [])[r.i]) })),
  ], some));
  const here = rows.filter((r) => r.row.here);
  const folds = rows.length > MOST_ROWS && here.length > 0 && here.length <= MOST_ROWS;
  return el('div', {}, subtitle(t.title), rows.length ? draw(folds ? here : rows) : note('It has no rows.'),
    folds && lazyDetails('all ' + counted(rows.length, 'row') + ', those of the source too', () => draw(rows)),
    t.note && note(t.note));
}

function besideCell(cell) {
  if (!cell) return el('span', { class: 'nothing' }, '\u2013');
  return [trueMinus(cell.value), cell.half && [' ', el('small', {}, '±\u00a0' + cell.half)]];
}

function differencesSection({ result }) {
  if (!result.differences.length) return [note('Nothing that is known of.')];
  return [el('ul', { class: 'differences' }, result.differences.map((text) => el('li', {}, text)))];
}
