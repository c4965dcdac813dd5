// Which runs are wanted. What is set stands in the address, so that it survives a reload.

const FILTERS = ['find', 'measurement', 'verdict', 'tag', 'host', 'since', 'until'];

function filterOfAddress() {
  const set = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries(FILTERS.map((name) => [name, set.get(name) || '']));
}

function keepInAddress(filter) {
  const set = new URLSearchParams(FILTERS.filter((name) => filter[name]).map((name) => [name, filter[name]]));
  history.replaceState(null, '', set.size ? '#' + set : location.pathname + location.search);
}

// A word for what a run is: its verdict, or why it has none.
function verdictOf(run) {
  return run.head ? run.head.verdict : run.problem.kind.replace('_', ' ');
}

function wanted(run, filter) {
  const head = run.head || {};
  return (!filter.measurement || head.measurement === filter.measurement)
    && (!filter.verdict || verdictOf(run) === filter.verdict)
    && (!filter.tag || run.tags.includes(filter.tag))
    && (!filter.host || head.host === filter.host)
    && (!filter.since || run.started.slice(0, 10) >= filter.since)
    && (!filter.until || run.started.slice(0, 10) <= filter.until)
    && (!filter.find || filter.find.toLowerCase().split(/\s+/).every((word) => textOf(run).includes(word)));
}

// All that can be found by its words.
function textOf(run) {
  if (run.text === undefined) {
    const head = run.head || {};
    run.text = [run.name, head.measurement, head.command, head.answer, head.host, head.kernel, head.tool, stateOf(run), verdictOf(run),
      run.problem && run.problem.why, ...run.tags].filter(Boolean).join('\n').toLowerCase();
  }
  return run.text;
}

// What is there to choose from, each once.
function choices(runs, of) {
  return [...new Set(runs.flatMap(of).filter(Boolean))].sort();
}

function chooser(name, label, values, filter, changed) {
  const all = values.includes(filter[name]) || !filter[name] ? values : [filter[name], ...values];
  const options = all.map((value) => el('option', { value, selected: value === filter[name] }, value));
  const box = el('select', { id: name, onchange: (e) => changed(name, e.target.value) }, el('option', { value: '' }, 'all'), options);
  return el('div', {}, el('label', { for: name }, label), box);
}

function field(name, label, type, filter, changed, rest) {
  const box = el('input', { id: name, type, value: filter[name], oninput: (e) => changed(name, e.target.value), ...rest });
  return el('div', { class: name === 'find' && 'find' }, el('label', { for: name }, label), box);
}

function filterBoxes(runs, filter, changed) {
  const head = (name) => (run) => (run.head ? [run.head[name]] : []);
  return [
    field('find', 'Find', 'search', filter, changed, { placeholder: 'name, tag, host, kernel …', autocomplete: 'off' }),
    chooser('measurement', 'Measurement', choices(runs, head('measurement')), filter, changed),
    chooser('verdict', 'Verdict', choices(runs, (run) => [verdictOf(run)]), filter, changed),
    chooser('tag', 'Tag', choices(runs, (run) => run.tags), filter, changed),
    chooser('host', 'Host', choices(runs, head('host')), filter, changed),
    field('since', 'From (UTC)', 'date', filter, changed),
    field('until', 'To (UTC)', 'date', filter, changed),
  ];
}
