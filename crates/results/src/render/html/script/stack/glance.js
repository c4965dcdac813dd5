// The figures that most readers came for, one block a direction.

function glance({ result }) {
  const blocks = result.summaries.map((s) => glanceBlock(result, s));
  if (!blocks.length) return [note('No finished trial with the tap: there is nothing to sum up.')];
  return [columnsOf(blocks)];
}

function glanceBlock(result, s) {
  const way = WAYS[s.direction];
  const half = s.overall.between_trials_ns;
  return card({ kind: s.direction, title: way.title, big: time(s.overall.mean_ns),
    aside: isNumber(half) ? plusMinus(half) : 'one trial: no interval',
    small: 'mean stack time of ' + count(s.total.n) + ' messages in ' + counted(s.overall.trials, 'trial'),
    rows: [
      ['p50', time(s.total.p50_ns)],
      ['p99', time(s.total.p99_ns)],
      ['p99.9', time(s.total.p999_ns)],
      ['mean at peak', s.peak ? time(s.peak.mean_ns) : 'no message left at peak'],
      ['rate reached', rate(s.reached_per_s)],
      ['below zero', count(s.total.negative)],
    ] });
}
