// The page is built of elements and text nodes only: no string of the record is ever read
// as HTML.

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'class') node.className = value;
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

// A column is {head, cell(row), text: true for words, wide: true for sentences, title: what the head means}.
// Wide tables scroll in a box of their own, which the keyboard can reach.
function table(caption, columns, rows) {
  const head = columns.map((c) => el('th', { scope: 'col', class: c.text && 'text', title: c.title }, c.head));
  const body = rows.map((row) =>
    el('tr', { class: row && row.rowClass }, columns.map((c, i) => tableCell(c, i, row))));
  const grid = el('table', {}, el('caption', { class: 'hidden' }, caption),
    el('thead', {}, el('tr', {}, head)), el('tbody', {}, body));
  return el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption }, grid);
}

function tableCell(column, index, row) {
  const content = column.cell(row);
  const kind = { class: column.text && (column.wide ? 'text wide' : 'text') };
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
  box.addEventListener('toggle', () => {
    if (!box.open || box.children.length !== 1) return;
    append(box, [inScope(here, build)]);
    drawAll();
  });
  return box;
}

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

function columnsOf(parts) {
  return el('div', { class: parts.length > 1 ? 'beside' : 'alone' }, parts);
}

function verdictMark(verdict) {
  const why = verdict.reasons.map((r) => r.text).join('\n');
  return el('span', { class: 'mark ' + verdict.level.toLowerCase(), title: why || null }, verdict.level);
}

// One large figure with what stands around it.
function card({ kind, title, big, aside, small, rows }) {
  return el('div', { class: 'glance ' + kind }, subtitle(title),
    el('p', { class: 'big' }, el('b', {}, big), aside && el('span', {}, ' ' + aside)),
    el('p', { class: 'small' }, small), pairs(rows));
}

function cardsOf(cards) {
  return el('div', { class: 'cards' }, cards);
}

// A rate as a card wants it: the figure, and beside it half its interval.
function bigAndHalf(perS, half) {
  return isNumber(half) ? roughRate(perS, half).split(/\u00a0(?=±)/) : [roughRate(perS), null];
}

// One of several pictures at a time; each is built when it is first asked for.
// An option is {name, build}.
function choice(label, options, first = 0) {
  const here = scope;
  const panels = options.map(() => el('div', { hidden: true }));
  const buttons = options.map((o, i) => el('button', { type: 'button', 'aria-pressed': 'false',
    onclick: () => { pick(i); drawAll(); } }, o.name));
  const pick = (chosen) => {
    if (!panels[chosen].children.length) append(panels[chosen], [inScope(here, options[chosen].build)]);
    panels.forEach((p, i) => { p.hidden = i !== chosen; });
    buttons.forEach((b, i) => b.setAttribute('aria-pressed', String(i === chosen)));
  };
  pick(first);
  const row = options.length > 1 && el('div', { class: 'choice', role: 'group', 'aria-label': label }, buttons);
  return el('div', {}, row, panels);
}

// What the colours of a picture of boxes mean: [name, colour].
function colourKey(entries) {
  return el('ul', { class: 'key' }, entries.map(([name, paint, look]) => {
    const swatch = el('span', { class: 'swatch ' + (look || 'layer') });
    swatch.style.setProperty('--c', 'var(--' + paint + ')');
    return el('li', {}, swatch, name);
  }));
}
