// A row a run, a page of rows at a time: a browser draws a hundred at once, not ten thousand.

const ROWS = 100;

function stateOf(run) {
  if (!run.head || run.head.state === 'complete') return null;
  return run.head.state === 'partial' && run.head.running ? 'running' : run.head.state;
}

function begun(run) {
  const text = run.started.slice(0, 16).replace('T', ' ');
  if (!run.report) return [el('span', { class: 'none' }), text];
  const tick = el('input', { type: 'checkbox', checked: ticked.has(run.report), 'aria-label': 'compare ' + run.name,
    onchange: (e) => turnTick(run.report, e.target.checked) });
  return [tick, el('a', { href: run.report, title: 'The report of ' + run.name }, text)];
}

// Runs that were ticked, by the addresses of their reports; they stay so while others are shown, and until the tab is
// closed.
const ticked = new Set(JSON.parse(sessionStorage.getItem('ticked') || '[]'));
const MOST_TICKED = 9;

function turnTick(report, on) {
  if (on) ticked.add(report);
  else ticked.delete(report);
  keepTicks();
  drawTicks();
}

function keepTicks() {
  sessionStorage.setItem('ticked', JSON.stringify([...ticked]));
}

// The oldest of them is what the others are compared with.
function comparisonOf(runs) {
  const names = runs.filter((run) => ticked.has(run.report)).map((run) => run.report.replace(/^report\//, 'run='));
  return 'compare?' + names.reverse().join('&');
}

function ticksFor(runs, clear) {
  const number = runs.filter((run) => ticked.has(run.report)).length;
  if (!number) return [];
  const words = number < 2 ? 'tick another run to compare it with' : number > MOST_TICKED ? 'too many to compare, at most ' + MOST_TICKED : null;
  const go = words || el('a', { href: comparisonOf(runs), title: 'Each with the oldest of them' }, 'Compare ' + number + ' runs');
  return [el('span', {}, go), el('button', { type: 'button', onclick: clear }, 'Clear ticks')];
}

function verdictCell(run) {
  const tone = run.head ? run.head.verdict.toLowerCase() : 'void';
  return el('span', { class: 'mark ' + tone }, verdictOf(run));
}

function remarks(run) {
  return [
    run.problem && run.problem.why,
    stateOf(run) && el('span', { class: 'state' }, stateOf(run)),
    run.tags.map((tag) => el('span', { class: 'tag' }, tag)),
    run.tags_problem && 'tags.json: ' + run.tags_problem,
  ];
}

const COLUMNS = [
  { head: 'Begun (UTC)', cell: begun },
  { head: 'Measurement', text: true, cell: (run) => (run.head ? run.head.measurement : '') },
  { head: 'Verdict', text: true, cell: verdictCell },
  { head: 'Tags', text: true, wide: true, cell: remarks },
  { head: 'Answer', text: true, wide: true, cell: (run) => (run.head && run.head.answer) || '' },
  { head: 'Command', text: true, wide: true, cell: (run) => (run.head && run.head.command ? el('code', {}, run.head.command) : '') },
  { head: 'Host', text: true, only: hostOf, cell: hostOf },
  { head: 'Kernel', text: true, only: kernelOf, cell: kernelOf },
  { head: 'Run', text: true, cell: (run) => el('span', { class: 'id' }, run.name) },
];

function hostOf(run) {
  return run.head ? run.head.host || 'not recorded' : '';
}

function kernelOf(run) {
  return run.head ? run.head.kernel.split(' ')[0] : '';
}

// Host and kernel are shown only where runs differ in them.
function runTable(runs) {
  const differs = (of) => new Set(listing.entries.filter((run) => run.head).map(of)).size > 1;
  return table('Runs, the newest first', COLUMNS.filter((column) => !column.only || differs(column.only)), runs);
}

function pager(page, count, turn) {
  const last = Math.ceil(count / ROWS) - 1;
  if (last < 1) return null;
  const button = (name, to) => el('button', { type: 'button', disabled: to < 0 || to > last, onclick: () => turn(to) }, name);
  return el('div', { class: 'pager', role: 'group', 'aria-label': 'Pages' },
    button('newer', page - 1), 'page ' + (page + 1) + ' of ' + (last + 1), button('older', page + 1));
}
