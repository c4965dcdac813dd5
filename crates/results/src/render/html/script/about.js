// What was noticed, what was left out, and where it all was taken.

function findings({ record }) {
  if (!record.findings.length) return [note('Nothing needed an explanation.')];
  return record.findings.map((f) => el('article', { class: 'finding' }, subtitle(prose(f.seen)),
    pairs(['cause', 'evidence', 'remedy'].map((name) => [name, prose(f[name])]))));
}

function leftOut({ result }) {
  if (!result.left_out.length) return [note('Nothing was left out.')];
  return [table('What was left out', [
    { head: 'what', text: true, cell: (l) => l.what },
    { head: 'why', text: true, cell: (l) => prose(l.reason) },
    { head: 'what would make it work', text: true, cell: (l) => prose(l.remedy) },
  ], result.left_out)];
}

function environment({ record, facts }) {
  const e = record.environment;
  const unread = 'could not be read';
  return [
    el('div', { class: 'beside' },
      el('div', {}, subtitle('Machine'), pairs([
        ['kernel', e.kernel || unread],
        ['CPU', e.cpu_model || unread],
        ['CPUs', count(e.cpus)],
        ['clock source', e.clocksource || unread],
        ['reading the clock', time(e.clock_read_ns)],
        ['governor', e.governor || 'none'],
        ['virtual machine', e.virtualised ? 'yes' : 'no'],
        ...e.threads.map((t) => [t.role, 'on CPU ' + t.cpu]),
        ...e.devices.map((d) => ['device of the ' + d.role, d.name + ', MTU ' + d.mtu + ', qdisc ' + d.qdisc]),
        ['written by', record.tool],
      ])),
      el('div', {}, subtitle('Plan'), pairs(facts.plan))),
    lazyDetails('settings', () => settingsTables(e.settings)),
    lazyDetails('CPU vulnerabilities', () => namedValues('CPU vulnerabilities', e.mitigations)),
  ];
}

function settingsTables(settings) {
  const missing = Object.entries(settings.not_recorded);
  return [
    namedValues('Settings of the host', settings.host),
    ...Object.entries(settings.namespaces).map(([role, own]) => namedValues('Other settings of the ' + role, own)),
    ...(missing.length ? [namedValues('Settings that could not be read', settings.not_recorded)] : []),
  ];
}

function namedValues(caption, map) {
  const rows = Object.entries(map);
  if (!rows.length) return note('None were recorded.');
  return table(caption, [
    { head: 'name', text: true, cell: (r) => el('code', {}, r[0]) },
    { head: 'value', text: true, cell: (r) => r[1] },
  ], rows);
}

// The text of the record as it was written: numbers that JavaScript would round stay whole.
function rawData({ record, recordText }) {
  const button = el('button', { type: 'button', class: 'download', id: 'download',
    onclick: () => save(fileName('', '.json'), 'application/json', [recordText]) }, 'Save the record as JSON');
  return [el('p', {}, button, ' ', el('small', {}, 'the record: ' + count(Math.ceil(recordText.length / 1024)) + ' KiB, schema version '
    + record.schema_version)), lazyDetails('each table as CSV', tableDownloads),
    note('Everything above was drawn from the record; ', el('code', {}, 'netfathom report'), ' reads it too. '
      + 'The values of a chart are saved by the button beside its title.')];
}

// The tables that stand on the page by now; those of a chart have its own button.
function tableDownloads() {
  const grids = [...document.querySelectorAll('main table')].filter((grid) => !grid.closest('.chart'));
  return el('ul', { class: 'downloads' }, grids.map((grid) => {
    const name = grid.caption.textContent;
    return el('li', {}, el('button', { type: 'button', onclick: () => saveCsv(name, csvOfTable(grid)) }, name));
  }));
}
