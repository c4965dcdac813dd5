// Values as CSV (RFC 4180), and saving: a link within the page, to which nothing outside is asked.

function csvField(value) {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return isNumber(value) ? String(value) : '';
  // A spreadsheet would take such a text for a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? "'" + value : String(value);
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

function csvLine(fields) {
  return fields.map(csvField).join(',') + '\r\n';
}

// The values of a chart as they are, not as they are shown.
function csvOf(spec, q) {
  if (spec.csv) return spec.csv();
  const unit = q.unit || q.label ? ' (' + (q.unit || q.label) + ')' : '';
  const raw = spec.x.raw || ((x) => x);
  const lines = [csvLine([spec.x.head + (spec.x.unit ? ' (' + spec.x.unit + ')' : ''), ...spec.series.map((s) => s.label + unit)])];
  spec.xs.forEach((x, i) => lines.push(csvLine([raw(x), ...spec.series.map((s) => s.values[i])])));
  return lines;
}

// A table of the page as it is read.
function csvOfTable(grid) {
  return [...grid.rows].map((row) => csvLine([...row.cells].map((cell) => cell.textContent.replaceAll('\u00a0', ' '))));
}

let recordId = 'record';

function fileName(name, ending) {
  return (recordId + (name ? '-' + name : '')).replace(/[^\w.-]+/g, '_').slice(0, 120) + ending;
}

function saveCsv(name, lines) {
  save(fileName(name, '.csv'), 'text/csv', lines);
}

function save(file, type, pieces) {
  const address = URL.createObjectURL(new Blob(pieces, { type }));
  el('a', { href: address, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
