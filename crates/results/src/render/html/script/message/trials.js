// The trials of each cell, round by round, and how late messages left.

function messageTrials(context) {
  const { result, facts } = context;
  const all = result.cells.flatMap((c, i) => c.trials.map((t) => ({ t, c, fact: facts.cells[i] })));
  if (!all.length) return [note('No trial was finished.')];
  const cut = all.filter((r) => r.t.cut_short).length;
  const empty = all.filter((r) => r.t.messages === 0).length;
  return [
    cut > 0 && note(counted(cut, 'trial') + ' ran out of time before all ' + facts.counts + ' were there; what was there counts.'),
    empty > 0 && note(counted(empty, 'trial') + ' had nothing that was whole.'),
    eachSpot(context, (cells, id, name) => roundChart(facts, cells, id, name)),
    lagTableOf(result, facts),
    lazyDetails('each trial', () => messageTrialTable(all.sort((a, b) => a.t.index - b.t.index), result)),
  ];
}

function roundChart(facts, cells, id, name) {
  const looks = messageLooks(facts.layers);
  const rounds = [...new Set(cells.flatMap((c) => c.trials.map((t) => t.round)))].sort((a, b) => a - b);
  const series = layersOf(facts, cells).map((layer) => {
    const cell = cells.find((c) => c.fact.layer === layer);
    const of = (round) => cell.fact.trials[cell.trials.findIndex((t) => t.round === round)];
    return { label: layer, ...looks.get(layer), joined: true, marked: true, values: rounds.map((round) => (of(round) > 0 ? of(round) : null)) };
  });
  if (!series.some((s) => s.values.some(isNumber))) return note(name + ': no trial had anything that was whole.');
  const round = (v) => (Number.isInteger(v) ? String(v) : '');
  return chart({ id: 'message-rounds-' + id, title: capital(facts.quantity_name) + ' of each trial', quantity: messageQuantity(facts), height: 220,
    xs: rounds.map((r) => r + 1), series, about: 'Each trial, round by round; those of a round are compared with each other.',
    x: { label: 'round', head: 'round', tick: round, cell: round, read: (v) => 'round ' + v, splits: (u) => roundTicks(u, rounds) } });
}

function roundTicks(u, rounds) {
  const step = Math.max(1, Math.ceil(rounds.length / 12));
  return rounds.filter((_, i) => i % step === 0).map((r) => r + 1).filter((v) => v >= u.scales.x.min && v <= u.scales.x.max);
}

function lagTableOf(result, facts) {
  const rows = result.cells.map((c, i) => ({ c, fact: facts.cells[i] })).filter((r) => r.c.lag);
  if (!rows.length) return null;
  return el('div', {}, subtitle('How late messages left'), table('How late messages left', [
    { head: 'size', cell: (r) => sizeText(r.c.bytes) },
    { head: 'layer', text: true, cell: (r) => el('code', {}, r.fact.layer) },
    { head: 'where', text: true, cell: (r) => r.c.placement + ' on ' + r.fact.pair },
    { head: 'mean', cell: (r) => time(r.c.lag.mean_ns) },
    { head: 'median', cell: (r) => time(r.c.lag.p50_ns) },
    { head: '99\u00a0%', cell: (r) => time(r.c.lag.p99_ns) },
    { head: 'largest', cell: (r) => time(r.c.lag.max_ns) },
  ], rows));
}

function messageTrialTable(rows, result) {
  const ran = (cost) => (isNumber(cost.run_delay_ns) ? time(cost.run_delay_ns) : NOT_KNOWN);
  // Over anything but TCP they are those of other connections.
  const tcp = (counts, what) => (counts && result.plan.carrier === 'tcp' ? count(counts[what]) : NOT_KNOWN);
  const timed = (r, ns) => (r.c.times.n > 0 && r.t.messages > 0 ? time(ns) : NOT_KNOWN);
  return table('Trials', [
    { head: 'trial', cell: (r) => count(r.t.index + 1) },
    { head: 'round', cell: (r) => count(r.t.round + 1) },
    { head: 'size', cell: (r) => sizeText(r.c.bytes) },
    { head: 'layer', text: true, cell: (r) => el('code', {}, r.fact.layer) },
    { head: 'where', text: true, cell: (r) => r.c.placement + ' on ' + r.fact.pair },
    { head: 'whole', title: 'messages, round trips or replies', cell: (r) => count(r.t.messages) },
    ...(result.plan.carrier === 'udp' ? [{ head: 'lost', cell: (r) => count(r.t.lost) }] : []),
    { head: 'took', cell: (r) => seconds(r.t.duration_ns / 1e9) },
    { head: 'a second', cell: (r) => (r.t.duration_ns > 0 && r.t.messages > 0 ? rate(r.t.messages / r.t.duration_ns * 1e9) : NOT_KNOWN) },
    { head: 'median', cell: (r) => timed(r, r.t.p50_ns) },
    { head: '99\u00a0%', cell: (r) => timed(r, r.t.p99_ns) },
    { head: 'waited for a processor, client', cell: (r) => ran(r.t.client) },
    { head: 'waited for a processor, server', cell: (r) => ran(r.t.server) },
    { head: 'delayed acks', cell: (r) => tcp(r.t.tcp, 'delayed_acks') },
    { head: 'time-outs', cell: (r) => tcp(r.t.tcp, 'timeouts') },
    { head: 'sent again', cell: (r) => tcp(r.t.tcp, 'retransmitted') },
    { head: '', text: true, cell: (r) => (r.t.cut_short ? 'cut short' : '') },
  ], rows);
}
