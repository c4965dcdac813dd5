// The legend of a chart: one button a group of curves. It switches them, and shows what
// they read under the cursor.

function makeLegend(spec, onToggle) {
  const place = el('output', { class: 'place', 'aria-live': 'off' });
  const entries = groupsOf(spec).map((group) => makeEntry(group, onToggle));
  const node = el('div', { class: 'legend' }, entries.map((e) => e.button), place);
  return { node, place, entries };
}

// Curves of one group are switched together: ten trials are one thing to look at.
function groupsOf(spec) {
  const groups = new Map();
  spec.series.forEach((s, i) => {
    const name = s.group || s.label;
    if (!groups.has(name)) groups.set(name, { name, indices: [], colour: s.colour, look: s.look });
    groups.get(name).indices.push(i);
  });
  return [...groups.values()];
}

function makeEntry(group, onToggle) {
  const swatch = el('span', { class: 'swatch ' + group.look });
  swatch.style.setProperty('--c', 'var(--' + group.colour + ')');
  const value = el('span', { class: 'value' });
  const button = el('button', { type: 'button', 'aria-pressed': 'true',
    'data-group': group.name }, swatch, el('span', {}, group.name), value);
  button.addEventListener('click', () => {
    const shown = button.getAttribute('aria-pressed') !== 'true';
    button.setAttribute('aria-pressed', String(shown));
    onToggle(group, shown);
  });
  return { group, button, value };
}

// What the curves of a group read at a place: one value, or the range of several.
function reading(shown, group, index, read) {
  const values = group.indices.map((i) => shown.columns[i][index]).filter(isNumber);
  if (!values.length) return '';
  const [low, high] = [smallest(values), largest(values)];
  return low === high ? read(low) : read(low) + ' – ' + read(high);
}

function showReading(legend, spec, shown, index, q) {
  const known = index !== null && index !== undefined;
  legend.place.textContent = known ? spec.x.read(shown.xs[index]) : '';
  for (const { group, value } of legend.entries) {
    value.textContent = known ? reading(shown, group, index, q.read) : '';
  }
}
