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

// A column is {head, cell(row), text: true for words, title: what the head means}.
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
  const kind = { class: column.text && 'text' };
  return index === 0 ? el('th', { scope: 'row', ...kind }, content) : el('td', kind, content);
}

// Details that are built when they are first opened: most never are.
function lazyDetails(summary, build) {
  const box = el('details', {}, el('summary', {}, summary));
  box.addEventListener('toggle', () => {
    if (box.open && box.children.length === 1) append(box, [build()]);
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
