// What went, and what the kernel said of it.

function transferGlance({ result, facts }) {
  const bytes = result.streams.reduce((total, s) => total + s.bytes, 0);
  const calls = result.streams.reduce((total, s) => total + s.calls, 0);
  return [cardsOf([card({
    kind: 'tx', title: result.plan.role === 'transmit' ? 'Sent' : 'Received', big: facts.rate,
    small: count(bytes) + ' bytes ' + facts.way,
    rows: [['this end', result.local], ['the other', result.peer || 'nobody'], ['calls', count(calls)],
      ['a call', bytes > 0 && calls > 0 ? count(bytes / calls) + '\u00a0bytes' : NOT_KNOWN],
      ['how it ended', words(result.end.how)]],
  })])];
}

function transferStreams({ result, facts }) {
  const rows = result.streams.map((s, i) => ({ s, i, fact: facts.streams[i] || {} }));
  return [table('Streams', [
    { head: 'stream', cell: (r) => count(r.i + 1) },
    { head: 'bytes', cell: (r) => count(r.s.bytes) },
    { head: 'calls', cell: (r) => count(r.s.calls) },
    { head: 'time', cell: (r) => seconds(r.s.duration_ns / 1e9) },
    { head: 'until the receiver closed', cell: (r) => seconds(isNumber(r.s.closed_ns) ? r.s.closed_ns / 1e9 : null) },
    { head: 'user', cell: (r) => seconds(r.s.user_ns / 1e9) },
    { head: 'system', cell: (r) => seconds(r.s.system_ns / 1e9) },
    { head: 'processor per KiB', cell: (r) => time(r.fact.cpu_per_kib_ns) },
  ], rows), facts.checksum && note(facts.checksum), note('Processor times are those of this end; over loopback the sender’s hold much of the receiver’s kernel half.')];
}

function transferConnections({ facts }) {
  const parts = facts.streams.map((fact, i) => [fact.connection && ['Connection of stream ', fact.connection],
    fact.datagrams && ['Datagrams of stream ', fact.datagrams]].filter(Boolean)
    .map(([title, rows]) => el('article', {}, subtitle(title + (i + 1)), pairs(rows))));
  return [el('div', { class: 'files' }, parts)];
}
