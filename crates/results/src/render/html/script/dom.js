// The page is built of elements and text nodes only: no string of the record is ever read
// as HTML.

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'class') node.className = value;
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : harmless(value));
  }
  append(node, children);
  return node;
}

// Text without control characters and what turns the direction of the text around it: as `steers` in Rust, lines and tabs
// apart.
function harmless(value) {
  return String(value).replace(/[^\P{Cc}\n\t]|[\p{Bidi_Control}\u2028\u2029]/gu, ' ');
}

// Browsers break lines at hyphens; an option of a command stays whole, unless it is too long for a small screen.
const OPTION = /\B(--?[a-z][a-z0-9-]{0,28})(?![\w-])/i;

function unbroken(text) {
  return text.split(OPTION).map((part, place) => {
    if (place % 2 === 0) return document.createTextNode(part);
    const option = document.createElement('span');
    option.className = 'option';
    option.textContent = part;
    return option;
  });
}

// A command in a sentence stands between backquotes. Names and values of the record may hold backquotes of their own.
function prose(text) {
  return text.split(/`([^`\n]+)`/).map((part, place) => (place % 2 === 0 ? part : el('code', {}, part)));
}

// No list of the page is longer, whatever the record holds.
const MOST_CHILDREN = 2000;
const MOST_TABLE_ROWS = 1000;
const MOST_COLUMNS = 100;

function append(node, children) {
  const all = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  for (const child of all.slice(0, MOST_CHILDREN)) {
    node.append(...(child instanceof Node ? [child] : unbroken(harmless(child))));
  }
  const more = all.length - MOST_CHILDREN;
  if (more > 0) node.append(el(node.matches('ul, ol') ? 'li' : 'p', { class: 'note cut' }, leftOutHere(more, 'entries')));
}

function leftOutHere(more, what) {
  return count(more) + ' more ' + what + ' are left out here; the record has them all.';
}

// A column is {head, cell(row), text: true for words, wide: true for sentences, title: what the head means}.
// Wide tables scroll in a box of their own, which the keyboard can reach.
// `total` is how many rows there are, where not all were handed over.
function table(caption, allColumns, allRows, total = allRows.length) {
  const [columns, rows] = [allColumns.slice(0, MOST_COLUMNS), allRows.slice(0, MOST_TABLE_ROWS)];
  const cuts = [[total - rows.length, 'rows'], [allColumns.length - columns.length, 'columns']].filter(([more]) => more > 0);
  const head = columns.map((c) => el('th', { scope: 'col', class: [c.text && 'text', c.wraps && 'wraps'].filter(Boolean).join(' '), title: c.title }, c.head));
  const body = rows.map((row) =>
    el('tr', { class: row && row.rowClass }, columns.slice(0, cellsOf(row, columns)).map((c, i) => tableCell(c, i, row, columns))));
  const grid = el('table', {}, el('caption', { class: 'hidden' }, caption),
    el('thead', {}, el('tr', {}, head)), el('tbody', {}, body));
  const box = el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption }, grid);
  if (!cuts.length) return box;
  return el('div', {}, box, cuts.map(([more, what]) => el('p', { class: 'note cut' }, leftOutHere(more, what))));
}

// A text that runs on across the rest of a row is its last cell.
function cellsOf(row, columns) {
  return row && row.across ? row.cells.length + 1 : columns.length;
}

function tableCell(column, index, row, columns) {
  const runsOn = Boolean(row && row.across) && index === row.cells.length;
  const content = column.cell(row);
  const kind = { class: (column.text || runsOn) && (column.wide ? 'text wide' : 'text'), colspan: runsOn && columns.length - index };
  return index === 0 ? el('th', { scope: 'row', ...kind }, content) : el('td', kind, content);
}

// Names of charts and sections begin with this: empty on the page itself, another for each run
// of an experiment, which draws what the page has drawn already.
let scope = '';

function inScope(name, build) {
  const outer = scope;
  scope = name;
  try {
    return build();
  } finally {
    scope = outer;
  }
}

// Details that are built when they are first opened: most never are.
function lazyDetails(summary, build) {
  const here = scope;
  const box = el('details', {}, el('summary', {}, summary));
  const fill = () => {
    if (box.children.length !== 1) return;
    append(box, [inScope(here, build)]);
    drawAll();
  };
  fillings.set(box, fill);
  box.addEventListener('toggle', () => box.open && fill());
  return box;
}

// What fills details and choices: their parts are built when first opened.
const fillings = new WeakMap();

function note(...children) {
  return el('p', { class: 'note' }, ...children);
}

function pairs(rows) {
  return el('dl', { class: 'pairs' }, rows.map(([name, value]) =>
    el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

function subtitle(text) {
  return el('h3', {}, text);
}

// One of several pictures at a time; each is built when it is first asked for.
// An option is {name, build}.
function choice(label, options) {
  const here = scope;
  const panels = options.map(() => el('div', { hidden: true }));
  const buttons = options.map((o, i) => el('button', { type: 'button', 'aria-pressed': 'false',
    onclick: () => { pick(i); drawAll(); } }, o.name));
  const fill = (i) => {
    if (panels[i].children.length) return;
    if (options.length > 1) append(panels[i], [el('p', { class: 'printed' }, options[i].name)]);
    append(panels[i], [inScope(here, options[i].build)]);
  };
  const pick = (chosen) => {
    fill(chosen);
    panels.forEach((p, i) => { p.hidden = i !== chosen; });
    buttons.forEach((b, i) => b.setAttribute('aria-pressed', String(i === chosen)));
  };
  pick(0);
  const row = options.length > 1 && el('div', { class: 'choice', role: 'group', 'aria-label': label }, buttons);
  const box = el('div', { class: 'chosen' }, row, panels);
  fillings.set(box, () => { options.forEach((_, i) => fill(i)); drawAll(); });
  return box;
}

// What the colours of a picture of boxes mean: [name, colour].
function colourKey(entries) {
  return el('ul', { class: 'key' }, entries.map(([name, paint, look]) => {
    const swatch = el('span', { class: 'swatch ' + (look || 'layer') });
    swatch.style.setProperty('--c', 'var(--' + paint + ')');
    return el('li', {}, swatch, name);
  }));
}
