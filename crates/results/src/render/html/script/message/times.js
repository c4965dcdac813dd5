// Percentiles by layer, at one placement, pair of processors and size.

function messageTimes(context) {
  const { facts, result } = context;
  if (!result.cells.some((c) => c.times.n > 0)) return [note('No time was measured.')];
  const looks = messageLooks(facts.layers);
  const from = isNumber(result.plan.rate_per_s) ? ' Times are those since a message should have left.' : '';
  return [eachSpot(context, (cells, id, name) => {
    const series = layersOf(facts, cells).map((layer) => ({ label: layer, ...looks.get(layer),
      values: cells.find((c) => c.fact.layer === layer).fact.times.map((v) => (v > 0 ? v : null)) }));
    if (!series.some((s) => s.values.some(isNumber))) return note(name + ': there are too few times for percentiles.');
    return percentileChart('message-times-' + id, capital(result.plan.test === 'oneway' ? 'time to arrival' : 'round trip') + ' by percentile', facts, series, { ...MESSAGE_TIME, label: 'time, logarithmic' });
  }), note('Of all trials together. A step of 40 ms is a delayed acknowledgement, one of 200 ms a retransmission time-out. '
    + 'Percentiles with fewer than ten times beyond them are left out.' + from)];
}
