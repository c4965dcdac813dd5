// Where the time goes: each stage as a bar that starts where the one before it ended.
// Lengths are a stage's part of the mean stack time, so they add up to it.

function waterfalls(context) {
  const blocks = context.result.summaries.map((s) => waterfall(context, s));
  if (!blocks.length) return [note('No finished trial with the tap: no stage has a time.')];
  return [...blocks, note('A bar is the stage’s part of the mean stack time over all messages, also over those that '
    + 'did not pass it. Hatched stages lie below the link layer: they are shown beside the stack time, not in it.')];
}

function waterfall({ facts }, summary) {
  const way = WAYS[summary.direction];
  const bars = layBars(summary, facts);
  const scale = scaleOf(bars, summary);
  const rows = [...stageRows(bars, scale, summary), totalRow(summary, scale)];
  return el('section', { class: 'waterfall ' + summary.direction, 'aria-label': 'Stages, ' + way.title },
    subtitle(way.title), el('ol', {}, rows), ruler(scale));
}

// A tap that sees no stage at all has one reason for all of them.
function stageRows(bars, scale, summary) {
  const reasons = new Set(bars.map((b) => (b.d ? null : b.reason)));
  if (reasons.size === 1 && !reasons.has(null)) {
    return [barRow({ name: 'all stages', reason: bars[0].reason, meaning: bars.map((b) => words(b.name)).join(', ') })];
  }
  const rows = bars.map((bar) => barRow(bar, scale, summary));
  const link = el('li', { class: 'link' }, el('span', {}, 'link layer'));
  const at = summary.direction === 'tx' ? bars.findLastIndex((b) => b.inside) + 1 : bars.findIndex((b) => b.inside);
  rows.splice(Math.max(at, 0), 0, link);
  return rows;
}

function layBars(summary, facts) {
  const n = summary.total.n;
  const bars = summary.stages.map((s) => {
    const d = s.times.measured;
    const part = d && n > 0 ? d.sum_ns / n : null;
    return { name: s.stage, inside: s.inside, share: s.share, part, d,
      reason: s.times.unavailable, meaning: (facts.stages[s.stage] || {}).meaning };
  });
  // What lies below on the way in comes before the link layer: left of zero.
  const before = summary.direction === 'rx' ? bars.filter((b) => !b.inside) : [];
  let at = -before.reduce((sum, b) => sum + (b.part || 0), 0);
  for (const bar of bars) {
    bar.from = at;
    at += bar.part || 0;
    bar.to = at;
  }
  return bars;
}

function scaleOf(bars, summary) {
  const ends = bars.flatMap((b) => [b.from, b.to]);
  const low = smallest(ends, 0);
  const high = largest(ends, Math.max(summary.total.mean_ns, 1));
  return { low, high, at: (ns) => (ns - low) / (high - low) * 100 };
}

function place(node, scale, from, to) {
  node.style.left = scale.at(Math.min(from, to)) + '%';
  node.style.width = Math.max(scale.at(Math.max(from, to)) - scale.at(Math.min(from, to)), 0.25) + '%';
  return node;
}

function barRow(bar, scale, summary) {
  const name = el('span', { class: 'stage' }, el('b', {}, words(bar.name)), el('small', {}, bar.meaning));
  if (!bar.d) {
    return el('li', { class: 'missing' }, name,
      el('span', { class: 'why' }, 'not measured: ' + (bar.reason || 'no reason given')));
  }
  const fill = place(el('span', { class: 'bar' + (bar.inside ? '' : ' below') }), scale, bar.from, bar.to);
  fill.style.setProperty('--c', 'var(--stage-' + stageColour(bar.name) + ')');
  const some = bar.d.n < summary.total.n && summary.total.n > 0;
  const passed = some && el('small', {}, percent(bar.d.n / summary.total.n) + ' passed, ' + time(bar.d.mean_ns) + ' each');
  return el('li', { class: bar.inside ? 'inside' : 'outside' }, name, el('span', { class: 'track' }, fill),
    el('span', { class: 'mean' }, time(bar.part), passed),
    el('span', { class: 'share' }, bar.inside ? percent(bar.share) : 'beside'));
}

function totalRow(summary, scale) {
  const fill = place(el('span', { class: 'bar total' }), scale, 0, summary.total.mean_ns);
  return el('li', { class: 'sum' },
    el('span', { class: 'stage' }, el('b', {}, 'stack time'), el('small', {}, 'mean over all messages')),
    el('span', { class: 'track' }, fill),
    el('span', { class: 'mean' }, time(summary.total.mean_ns)), el('span', { class: 'share' }, '100\u00a0%'));
}

function ruler(scale) {
  const axis = el('div', { class: 'ruler', 'aria-hidden': 'true' });
  const step = niceStep((scale.high - scale.low) / 4);
  // A tick at the very edge would reach out of the page.
  const last = scale.high - (scale.high - scale.low) * 0.06;
  for (let ns = Math.ceil(scale.low / step) * step; ns <= last; ns += step) {
    const tick = el('span', {}, tickTime(ns));
    tick.style.left = scale.at(ns) + '%';
    axis.append(tick);
  }
  return el('div', { class: 'rulerrow' }, axis);
}

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((m) => m * power >= rough) * power;
}
