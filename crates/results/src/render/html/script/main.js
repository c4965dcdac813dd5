// The order a reader needs: id, title, what builds it, and where it is not for all, for whom.

const CLOSING = [
  ['findings', 'Findings', findings],
  ['left-out', 'Left out', leftOut, ({ result }) => Boolean(result.left_out)],
  ['environment', 'Environment and plan', environment],
  ['record-section', 'Raw data', rawData],
];

// A part that cannot be drawn says so and leaves the others alone.
function section(context, [name, title, build], heading) {
  const id = scope + name;
  const node = el('section', { id, 'aria-labelledby': id + '-title' }, el(heading || 'h2', { id: id + '-title' }, title));
  try {
    append(node, build(context));
  } catch (error) {
    append(node, [note('This part could not be drawn: ' + error.message)]);
    console.error(error);
  }
  return node;
}

function dataIn(id) {
  const node = document.getElementById(id);
  return node && JSON.parse(node.textContent);
}

// Where there are raw samples, the record is squeezed to make room for them. A comparison carries none.
async function carried(facts) {
  const node = document.getElementById('record');
  if (!node) return {};
  const recordText = node.type === 'application/json' ? node.textContent : new TextDecoder().decode(await unpacked('record'));
  const record = JSON.parse(recordText);
  recordId = String(record.id);
  return { record, facts, recordText, result: record.measurement };
}

// What the page had before this script ran.
function formatVerdicts() {
  for (const node of document.querySelectorAll('.verdict p, .verdict li')) {
    for (const text of [...node.childNodes].filter((child) => child.nodeType === Node.TEXT_NODE)) {
      text.replaceWith(...el('span', {}, prose(text.data)).childNodes);
    }
  }
}

async function start() {
  formatVerdicts();
  const facts = dataIn('facts');
  const context = await carried(facts);
  const { record } = context;
  const report = document.getElementById('report');
  const contents = document.getElementById('contents');
  const closing = CLOSING.filter(([, , , wanted]) => record && (!wanted || wanted(context)));
  for (const part of [...storySections(facts.page), ...closing]) {
    report.append(section(context, part));
    contents.append(el('a', { href: '#' + part[0] }, part[1]));
  }
  drawAll();
  // For tests and for the curious: the charts and what they were drawn from.
  window.netfathom = { charts, record, facts, drawnMs: performance.now() };
  document.documentElement.dataset.drawn = 'yes';
}

start().catch((error) => {
  append(document.getElementById('report'), [note('The report could not be drawn: ' + error.message + '.')]);
  console.error(error);
});
