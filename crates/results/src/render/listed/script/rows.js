// A row a run, a page of rows at a time: a browser draws a hundred at once, not ten thousand.

const ROWS = 100;

function stateOf(run) {
  if (!run.head || run.head.state === 'complete') return null;
  return run.head.state === 'partial' && run.head.running ? 'running' : run.head.state;
}

function begun(run) {
  const text = run.started.slice(0, 16).replace('T', ' ');
  return run.report ? el('a', { href: run.report, title: 'The report of ' + run.name }, text) : text;
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
  { head: 'Host', text: true, cell: (run) => (run.head ? run.head.host || 'not told' : '') },
  { head: 'Kernel', text: true, cell: (run) => (run.head ? run.head.kernel.split(' ')[0] : '') },
  { head: 'Run', text: true, cell: (run) => el('span', { class: 'id' }, run.name) },
];

function runTable(runs) {
  return table('Runs, the newest first', COLUMNS, runs);
}

function pager(page, count, turn) {
  const last = Math.ceil(count / ROWS) - 1;
  if (last < 1) return null;
  const button = (name, to) => el('button', { type: 'button', disabled: to < 0 || to > last, onclick: () => turn(to) }, name);
  return el('div', { class: 'pager', role: 'group', 'aria-label': 'Pages' },
    button('newer', page - 1), 'page ' + (page + 1) + ' of ' + (last + 1), button('older', page + 1));
}
