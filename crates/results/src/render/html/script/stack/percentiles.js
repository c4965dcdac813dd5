// Percentiles of the stack time, drawn from the merged histograms.

function percentiles({ facts }) {
  const totals = facts.totals.filter((c) => c.values.some(isNumber));
  if (!totals.length) return [note('Too few messages for percentiles.')];
  const series = totals.flatMap((total) => {
    const single = facts.trials.filter((t) => t.direction === total.direction);
    const each = single.length < 2 ? [] : single.map((t) => percentileCurve(total.direction + ' trial ' + (t.trial + 1),
      total.direction, 'faint', t.values, total.direction + ' single trials'));
    return [...each, percentileCurve(total.direction, total.direction, 'strong', total.values)];
  });
  return [percentileChart('percentiles', 'Stack time by percentile', facts, series),
    note('A percentile with fewer than ten messages beyond it is not drawn. Times at or below zero have no place on a '
      + 'logarithmic axis; they stand in the table.')];
}
