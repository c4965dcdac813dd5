// All taps on the same load, beside each other: what each says, and what each costs.

function tapsCompared({ result }) {
  return (result.taps || []).filter((t) => t.trials > 0).length > 1;
}

function tapsBeside({ result, facts }) {
  const rows = result.taps.map((t, i) => ({ t, cost: t.cost || {}, said: facts.taps[i] })).filter((r) => r.t.trials > 0);
  const distorted = rows.some((r) => r.said.send_distorts || r.said.rate_distorts);
  return [el('div', { class: 'compared' }, table('The taps beside each other', [
    { head: 'tap', cell: (r) => el('b', {}, words(r.t.tap)) },
    { head: 'trials', cell: (r) => count(r.t.trials) },
    { head: 'mean out', cell: (r) => withInterval(r.t.tx_ns) },
    { head: 'bias out', title: 'its mean minus that of the first tap, over what both see', cell: (r) => (r === rows[0] ? 'the first' : difference(r.t.tx_bias_ns, r.said.tx_bias_ns)) },
    { head: 'mean in', cell: (r) => withInterval(r.t.rx_ns) },
    { head: 'bias in', title: 'its mean minus that of the first tap, over what both see', cell: (r) => (r === rows[0] ? 'the first' : difference(r.t.rx_bias_ns, r.said.rx_bias_ns)) },
    { head: 'send() longer by', cell: (r) => difference(r.cost.send_call_ns, r.said.send_call_ns) },
    { head: 'of the call', cell: (r) => taken(r.cost.send_call_share, r.said.send_call_share, r.said.send_distorts) },
    { head: 'reader longer by', title: 'processor time of the reader, per message',
      cell: (r) => difference(r.cost.reader_cpu_ns, r.said.reader_cpu_ns) },
    { head: 'rate lost', title: 'share of the flat-out rate', cell: (r) => taken(r.cost.rate_lost, r.said.rate_lost, r.said.rate_distorts) },
    { head: 'messages not timed', cell: (r) => percent(r.t.lost) },
  ], rows)), note('Costs are against the trials without any tap; ± is half the 95 % interval between trials. Cannot tell: the interval '
    + 'holds zero.' + (distorted ? ' Distorts: the tap takes more than 10 % of the send call or of the rate, so what it times is a '
    + 'slower program, although nothing was lost.' : ''))];
}

// What belongs to a number stands under it, so that all taps fit beside each other.
function under(content) {
  return [el('br'), content];
}

function withInterval(estimate) {
  return estimate ? [time(estimate.value), under(el('small', {}, plusMinus(estimate.half_width)))] : NOT_KNOWN;
}

function remark(text, kind) {
  return under(el('span', { class: 'mark ' + kind }, text));
}

function difference(estimate, holdsZero) {
  if (!estimate) return NOT_KNOWN;
  const sign = estimate.value > 0 ? '+' : '';
  return [sign + time(estimate.value), under(el('small', {}, plusMinus(estimate.half_width))), holdsZero && remark('cannot tell', 'doubt')];
}

function taken(estimate, holdsZero, distorts) {
  if (!estimate) return NOT_KNOWN;
  return [percent(estimate.value), under(el('small', {}, '±\u00a0' + percent(estimate.half_width))),
    distorts ? remark('distorts', 'degraded') : holdsZero && remark('cannot tell', 'doubt')];
}
