// The paper's figure: outgoing and inbound rate over time, and beneath it the stack time.

function reverseOverTime({ result }) {
  const parts = result.variants.filter((v) => v.trials.length).map(variantFigure);
  if (!parts.length) return [note('No trial was finished: nothing was recorded over time.')];
  return [columnsOf(parts), note('Thin lines are single trials, strong ones their mean. Charts of a variant share their time axis.')];
}

function variantFigure({ variant, trials }) {
  const windowNs = trials[0].window_ns;
  const same = trials.filter((t) => t.window_ns === windowNs);
  const xs = middles(windowNs, largest(same.map((t) => Math.max(t.outgoing.length, t.inbound.length)), 0));
  const shared = { x: TIME_X, xs, sync: 'reverse-' + variant, bands: phaseBands(trials[0]) };
  const rates = chart({ ...shared, id: 'reverse-' + variant, title: 'Rate, ' + variantName(variant), kind: 'rate', height: 220,
    about: 'Outgoing and inbound messages a second in each window.',
    series: [...overTrials(same, 'outgoing', 'tx', xs, (t) => perSecond(t.outgoing, windowNs)),
      ...overTrials(same, 'inbound', 'rx', xs, (t) => perSecond(t.inbound, windowNs))] });
  return el('div', {}, rates, stackUnder(variant, same, shared));
}

function stackUnder(variant, trials, shared) {
  const with_ = trials.filter((t) => t.stack);
  if (!with_.length) return note('Stack time: no tap was on.');
  const means = (t) => t.stack.n.map((_, i) => windowMean(t.stack, i));
  return chart({ ...shared, id: 'reverse-stack-' + variant, title: 'Mean stack time out, ' + variantName(variant), kind: 'time', height: 150,
    about: 'Mean stack time of the outgoing messages in each window.',
    series: overTrials(with_, 'stack time', 'lag', shared.xs, means) });
}

function perSecond(counts, windowNs) {
  return counts.map((n) => n / (windowNs / 1e9));
}

function overTrials(trials, name, paint, xs, values) {
  const each = trials.map((t) => padded(values(t), xs.length));
  const mean = xs.map((_, i) => meanOf(each.map((v) => v[i])));
  const single = trials.length < 2 ? [] : trials.map((t, i) => ({ label: name + ', ' + trialLabel(t), group: name + ', single trials',
    colour: paint, look: 'faint', values: each[i] }));
  return [...single, { label: name, colour: paint, look: 'strong', values: mean }];
}

function phaseBands(trial) {
  return trial.phases.map((p) => ({ from: p.start_ns / 1e9, to: p.end_ns / 1e9, label: words(p.phase),
    shaded: p.phase === 'rise' || p.phase === 'peak' }));
}
