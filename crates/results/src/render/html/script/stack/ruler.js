// The ruler is measured: what the tap itself costs, and what the other tap says.

function selfCost({ result, facts }) {
  const cost = result.self_cost;
  const controls = result.trials.filter((t) => t.kind === 'control');
  const parts = [];
  if (!cost) {
    parts.push(note('Not known: ' + count(controls.length) + ' control trials without the tap were run. '
      + 'At least two on each side are needed for an interval.'));
  } else {
    parts.push(estimates(cost, facts.nothing));
  }
  if (controls.length) parts.push(lazyDetails('trials with and without the tap', () => rulerTable(result.trials)));
  return parts;
}

function estimates(cost, nothing) {
  const rows = [
    estimateRow('send call', 'longer, per message', cost.send_call_ns, nothing.send_call_ns, time),
    ...(cost.send_call_share ? [estimateRow('of the send call', 'of its time without a tap', cost.send_call_share, nothing.send_call_share,
      percent)] : []),
    ...['tx', 'rx'].filter((way) => cost['within_' + way + '_ns']).map((way) => estimateRow('within ' + way, 'of the reported time, the tap’s own',
      cost['within_' + way + '_ns'], nothing['within_' + way + '_ns'], time)),
    estimateRow('reader’s processor', 'more time, per message', cost.reader_cpu_ns, nothing.reader_cpu_ns, time),
    estimateRow('flat-out rate', 'share that the tap takes', cost.rate_lost, nothing.rate_lost, percent),
  ];
  return table('What the tap costs', [
    { head: 'quantity', cell: (r) => [r.name, ' ', el('small', {}, r.what)] },
    { head: 'tap against control', cell: (r) => el('b', {}, r.value) },
    { head: '95 % interval', cell: (r) => r.interval },
    { head: '', text: true, cell: (r) => r.remark },
  ], rows);
}

function estimateRow(name, what, estimate, holdsNothing, read) {
  if (!estimate) return { name, what, value: NOT_KNOWN, interval: '', remark: 'could not be measured here' };
  const { value, half_width: half } = estimate;
  const ends = read(value - half) + ' to ' + read(value + half);
  return { name, what, value: read(value), interval: ends,
    remark: holdsNothing ? 'cannot be told from nothing' : '' };
}

function rulerTable(trials) {
  return table('Trials with and without the tap', [
    { head: 'trial', cell: (t) => t.index + 1 },
    { head: 'kind', text: true, cell: (t) => words(t.kind) },
    { head: 'tap', text: true, cell: (t) => t.tap || 'none' },
    { head: 'send call mean', cell: (t) => time(t.load.send_call.mean_ns) },
    { head: 'reader’s processor per message', cell: (t) => time(t.reader_cpu_ns_per_message) },
    { head: 'flat-out rate', cell: (t) => rate(t.flat_out_per_s) },
    { head: 'clock moved', title: 'CLOCK_REALTIME against CLOCK_MONOTONIC',
      cell: (t) => (isNumber(t.clock_moved_ns) ? time(t.clock_moved_ns) : 'not converted') },
  ], trials);
}

function witness({ result }) {
  if (!result.witnesses.length) return [note('There was none: no other tap was used in this run.')];
  return [table('What the other tap says', [
    { head: 'direction', cell: (w) => w.direction },
    { head: 'other tap', text: true, cell: (w) => words(w.tap) },
    { head: 'its mean', cell: (w) => time(w.mean_ns) },
    { head: 'main tap minus it', cell: (w) => time(w.difference_ns) },
    { head: '95 % between trials', cell: (w) => (isNumber(w.half_width_ns) ? '± ' + time(w.half_width_ns) : NOT_KNOWN) },
    { head: 'its stamp lies behind', title: 'on the same messages: part of the difference',
      cell: (w) => (isNumber(w.behind_ns) ? time(w.behind_ns) : NOT_KNOWN) },
    { head: '', text: true, cell: (w) => agreement(w) },
  ], result.witnesses)];
}

function agreement({ agreement: outcome, half_width_ns: half }) {
  const texts = {
    agree: 'agrees within the larger of 15 % and 300 ns',
    inconclusive: isNumber(half) ? 'inconclusive: the interval reaches beyond 15 % and 300 ns'
      : 'inconclusive: an interval needs two trials of each tap',
    disagree: 'disagrees by more than the larger of 15 % and 300 ns',
  };
  const text = texts[outcome] || words(outcome);
  return outcome === 'agree' ? text : el('span', { class: 'mark degraded' }, text);
}
