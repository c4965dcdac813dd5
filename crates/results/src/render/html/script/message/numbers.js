// Each cell in figures: how fast, and what a message took at both ends.

const MESSAGE_ENDS = ['client', 'server'];

function messageNumbers(context) {
  const groups = messageGroups(context);
  if (!groups.length) return [note('No trial was finished.')];
  const spots = groups.flatMap((p) => p.pairs.map((g) => ({ name: p.name + ' on ' + g.name, cells: g.cells })));
  return [choice('placement and processors', spots.map((s) => ({ name: s.name, build: () => el('div', { class: 'costs' }, numbersTable(context, s.cells)) }))),
    note('Cost is that of a message, as the median of the trials. Ratios are to ',
      el('code', {}, context.facts.first), ', of trials of the same round.'),
    reasonsOf(context.facts),
    lazyDetails('system calls by name', () => callsTable(context))];
}

function numbersTable({ facts, result }, cells) {
  const bytes = facts.quantity === 'bytes';
  const quantile = (c, ns) => (c.times.n > 0 ? time(ns) : NOT_KNOWN);
  const ends = (head, title, text, why) => MESSAGE_ENDS.map((end) => ({ head: head + ', ' + end, title, cell: (c) => endCell(facts, c, end, text, why && why(c)) }));
  return table('Cells', [
    { head: 'size', cell: (c) => sizeText(c.bytes) },
    { head: 'layer', text: true, cell: (c) => el('code', {}, c.fact.layer) },
    { head: facts.counts + ' a second', cell: (c) => el('b', {}, messageFigure(c.rate && rateFigure(c.rate), RATE)) },
    ...(bytes ? [{ head: 'bytes a second', cell: (c) => el('b', {}, messageFigure(c.fact.figure, BYTE_RATE)) }] : []),
    { head: facts.ratio_name, title: 'to that of ' + facts.first + ', of trials of the same round', cell: (c) => (c.fact.layer === facts.first ? '1' : messageFigure(c.fact.ratio, RATIO)) },
    { head: 'median', cell: (c) => quantile(c, c.times.p50_ns) },
    { head: '99\u00a0%', cell: (c) => quantile(c, c.times.p99_ns) },
    { head: '99.9\u00a0%', cell: (c) => quantile(c, c.times.p999_ns) },
    ...ends('processor time', 'of its threads, kernel work in their name included', (e) => e.cpu_ns === null ? NOT_KNOWN : time(e.cpu_ns)),
    { head: 'kernel workers', title: 'processor time ' + facts.workers, cell: (c) => time(c.fact.kernel_workers_ns) },
    ...ends('system calls', 'counted in a trial of its own', (e) => eachText(e.calls), (c) => c.calls.not),
    ...ends('switches', 'waits and preemptions', (e) => eachText(e.switches)),
    ...ends('segments', 'TCP segments that it sent, with data or without', (e) => eachText(e.segments), () => facts.no_segments),
    { head: 'delayed acks', title: 'acknowledgements that were put off until their timer ran out', cell: (c) => eachText(c.fact.delayed_acks) },
    ...(result.plan.carrier === 'udp' ? [{ head: 'lost', cell: (c) => count(c.trials.reduce((sum, t) => sum + t.lost, 0)) }] : []),
  ], cells);
}

function rateFigure(rate) {
  return rate.mean_per_s ? { value: rate.mean_per_s.value, half: rate.mean_per_s.half_width } : { value: rate.median_per_s, half: null };
}

// What is not known says why when it is pointed at.
function endCell(facts, cell, end, text, why) {
  const shown = text(cell.fact.ends[end]);
  if (shown !== NOT_KNOWN) return shown;
  return el('span', { class: 'unknown', title: cell.fact.ends[end].in_kernel ? facts.in_kernel : why || 'it could not be read' }, shown);
}

function reasonsOf(facts) {
  return facts.reasons.length > 0 && el('ul', { class: 'reasons degraded' }, facts.reasons.map((text) => el('li', {}, capital(text) + '.')));
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
