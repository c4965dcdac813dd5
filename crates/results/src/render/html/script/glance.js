// The figures that most readers came for, one block a direction.

function glance({ stack }) {
  const blocks = stack.summaries.map((s) => glanceBlock(stack, s));
  if (!blocks.length) return [note('No finished trial with the tap: there is nothing to sum up.')];
  return [columnsOf(blocks)];
}

function glanceBlock(stack, s) {
  const way = WAYS[s.direction];
  const half = s.overall.between_trials_ns;
  return el('div', { class: 'glance ' + s.direction },
    subtitle(way.title),
    el('p', { class: 'big' }, el('b', {}, time(s.overall.mean_ns)),
      el('span', {}, isNumber(half) ? ' ' + plusMinus(half) : ' one trial: no interval')),
    el('p', { class: 'small' }, 'mean stack time of ' + count(s.total.n) + ' messages in '
      + count(s.overall.trials) + (s.overall.trials === 1 ? ' trial' : ' trials')),
    pairs([
      ['p50', time(s.total.p50_ns)],
      ['p99', time(s.total.p99_ns)],
      ['p99.9', time(s.total.p999_ns)],
      ['mean at peak', s.peak ? time(s.peak.mean_ns) : 'no message left at peak'],
      ['rate reached', rate(s.reached_per_s)],
      ['below zero', count(s.total.negative)],
    ]));
}
