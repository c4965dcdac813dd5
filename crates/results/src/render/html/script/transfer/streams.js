// What went, and what the kernel said of it.

function transferGlance({ result, facts }) {
  const bytes = result.streams.reduce((total, s) => total + s.bytes, 0);
  const calls = result.streams.reduce((total, s) => total + s.calls, 0);
  return [cardsOf([card({
    kind: 'tx transfer', title: result.plan.role === 'transmit' ? 'Sent' : 'Received', big: facts.rate,
    small: count(bytes) + ' bytes ' + facts.way,
    rows: [['this end', result.local], ['the other', result.peer || 'nobody'], ['calls', count(calls)],
      ['a call', bytes > 0 && calls > 0 ? count(bytes / calls) + '\u00a0bytes' : NOT_KNOWN],
      ['how it ended', facts.ended],
      ...(result.congestion ? [['congestion control', result.congestion]] : [])],
  })])];
}

function transferStreams({ result, facts }) {
  const rows = result.streams.map((s, i) => ({ s, i, fact: facts.streams[i] || {} }));
  return [table('Streams', [
    { head: 'stream', cell: (r) => count(r.i + 1) },
    { head: 'peer', text: true, cell: (r) => r.s.peer || 'nobody' },
    { head: 'ended', text: true, cell: (r) => r.fact.ended },
    { head: 'bytes', cell: (r) => count(r.s.bytes) },
    { head: 'calls', cell: (r) => count(r.s.calls) },
    { head: 'time', cell: (r) => seconds(r.s.duration_ns / 1e9) },
    { head: 'until the receiver closed', cell: (r) => seconds(isNumber(r.s.closed_ns) ? r.s.closed_ns / 1e9 : null) },
    { head: 'user', cell: (r) => seconds(r.s.user_ns / 1e9) },
    { head: 'system', cell: (r) => seconds(r.s.system_ns / 1e9) },
    { head: 'processor per KiB', cell: (r) => time(r.fact.cpu_per_kib_ns) },
  ], rows), facts.streams.some((f) => f.trouble) && el('ul', { class: 'reasons void' },
    facts.streams.map((f, i) => f.trouble && el('li', {}, 'Stream ' + (i + 1) + ': ' + f.trouble))),
  ...facts.streams.filter((f) => f.checksum).map((f) => note(f.checksum)), note('Processor times are those of this end; over loopback the sender’s hold much of the receiver’s kernel half.')];
}

const STREAM_PARTS = [['Copies', (f) => f.copies && [['of the bytes', f.copies]]], ['Calls', (f) => f.calls],
  ['Connection', (f) => f.connection], ['Datagrams', (f) => f.datagrams]];

function transferConnections({ facts }) {
  const parts = facts.streams.map((fact, i) => STREAM_PARTS.map(([title, of]) => [title, of(fact)]).filter(([, rows]) => rows)
    .map(([title, rows]) => el('article', {}, subtitle(title + ' of stream ' + (i + 1)), pairs(rows))));
  if (!parts.flat().length) return [note('Nothing was heard of a connection.')];
  return [el('div', { class: 'files' }, parts)];
}

function transferCost({ facts }) {
  return [pairs(facts.cost), note('Softirqs are the kernel’s half of the network. Those that others were charged with hold what '
    + 'other traffic of the host caused at the time.')];
}

function transferServed({ facts }) {
  return [table('Senders that were served', [
    { head: '', text: true, cell: (r) => r[0] },
    { head: 'so many', cell: (r) => r[1] },
  ], facts.served)];
}
