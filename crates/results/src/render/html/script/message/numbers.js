// Each cell in figures: how fast, and what a message took at both ends.

const MESSAGE_ENDS = ['client', 'server'];

function messageNumbers(context) {
  const groups = messageGroups(context);
  if (!groups.length) return [note('No trial was finished.')];
  const spots = groups.flatMap((p) => p.pairs.map((g) => ({ name: p.name + ' on ' + g.name, cells: g.cells })));
  return [choice('placement and processors', spots.map((s) => ({ name: s.name, build: () => el('div', { class: 'costs' }, numbersTable(context, s.cells)) }))),
    note('Cost is that of a message, as the median of the trials. Ratios are to ',
      el('code', {}, context.facts.first), ', of trials of the same round.'),
    reasonsOf(context.result),
    lazyDetails('system calls by name', () => callsTable(context))];
}

function numbersTable({ facts, result }, cells) {
  const bytes = facts.quantity === 'bytes';
  const quantile = (c, ns) => (c.times.n > 0 ? messageTime(ns) : NOT_KNOWN);
  const ends = (head, title, text) => MESSAGE_ENDS.map((end) => ({ head: head + ', ' + end, title, cell: (c) => endCell(c, end, text) }));
  return table('Cells', [
    { head: 'size', cell: (c) => sizeText(c.bytes) },
    { head: 'layer', text: true, cell: (c) => el('code', {}, c.fact.layer) },
    { head: facts.counts + ' a second', cell: (c) => el('b', {}, messageFigure(c.rate && rateFigure(c.rate), rateUnit)) },
    ...(bytes ? [{ head: 'bytes a second', cell: (c) => el('b', {}, messageFigure(c.fact.figure, bytesUnit)) }] : []),
    { head: facts.ratio_name, title: 'to that of ' + facts.first + ', of trials of the same round', cell: (c) => (c.fact.layer === facts.first ? '1' : timesText(c.fact.ratio)) },
    { head: 'median', cell: (c) => quantile(c, c.times.p50_ns) },
    { head: '99\u00a0%', cell: (c) => quantile(c, c.times.p99_ns) },
    { head: '99.9\u00a0%', cell: (c) => quantile(c, c.times.p999_ns) },
    ...ends('processor time', 'of its threads, kernel work in their name included', (e) => e.cpu_ns === null ? NOT_KNOWN : messageTime(e.cpu_ns)),
    { head: 'kernel workers', title: 'processor time of kworker and ksoftirqd, whoever they worked for', cell: (c) => messageTime(c.fact.kernel_workers_ns) },
    ...ends('system calls', 'counted in a trial of its own', (e) => eachText(e.calls)),
    ...ends('switches', 'waits and preemptions', (e) => eachText(e.switches)),
    ...ends('segments', 'TCP segments that it sent, with data or without', (e) => eachText(e.segments)),
    { head: 'delayed acks', title: 'acknowledgements that were put off until their timer ran out', cell: (c) => eachText(c.fact.delayed_acks) },
    ...(result.plan.carrier === 'udp' ? [{ head: 'lost', cell: (c) => count(c.trials.reduce((sum, t) => sum + t.lost, 0)) }] : []),
  ], cells);
}

function rateFigure(rate) {
  return rate.mean_per_s ? { value: rate.mean_per_s.value, half: rate.mean_per_s.half_width } : { value: rate.median_per_s, half: null };
}

// What is not known says why when it is pointed at.
function endCell(cell, end, text) {
  const shown = text(cell.fact.ends[end]);
  if (shown !== NOT_KNOWN) return shown;
  const why = cell.fact.ends[end].in_kernel ? IN_KERNEL : cell.calls.not || 'it could not be read';
  return el('span', { class: 'unknown', title: why }, shown);
}

const IN_KERNEL = 'this end is in the kernel: it has no thread of its own that could be told from others';

function reasonsOf(result) {
  const reasons = new Map();
  for (const c of result.cells) if (c.calls.not) reasons.set(c.calls.not, (reasons.get(c.calls.not) || 0) + 1);
  const lines = [...reasons].map(([why, cells]) => 'System calls of ' + counted(cells, 'cell') + ' were not counted: ' + why);
  if (result.cells.some((c) => c.placement !== 'UU')) lines.push('An end in the kernel has no thread of its own that could be told from others.');
  return lines.length > 0 && el('ul', { class: 'reasons degraded' }, lines.map((text) => el('li', {}, text)));
}

function callsTable({ result, facts }) {
  const rows = result.cells.flatMap((c, i) => (c.calls.calls || []).map((call) => ({ c, call, fact: facts.cells[i] })));
  if (!rows.length) return note('No system call was counted.');
  return table('System calls by name', [
    { head: 'size', cell: (r) => sizeText(r.c.bytes) },
    { head: 'layer', text: true, cell: (r) => el('code', {}, r.fact.layer) },
    { head: 'where', text: true, cell: (r) => r.c.placement + ' on ' + r.fact.pair },
    { head: 'end', text: true, cell: (r) => r.call.end },
    { head: 'call', text: true, cell: (r) => el('code', {}, r.call.name) },
    { head: 'a message', cell: (r) => eachText(r.call.per_message) },
  ], rows);
}
