// `netfathom ttcp sweep`: the rate over the send buffer, a line for each kind of write, and on
// it a mark in the colour of what limited the transfer.

const SWEEP_COLOURS = ['muted', 'tx', 'rx', 'lag', 'call', 'planned'];
const SWEEP_LOOKS = ['quiet', 'quiet-dashed', 'quiet-dotted', 'quiet-dashdot'];
const MARK_SHAPES = ['circle', 'square', 'diamond', 'triangle'];
// Every cause that there is, so that each has a shape of its own beside its colour where it can be.
const CAUSES = ['nothing', 'send_buffer', 'delayed_acknowledgement', 'nagle', 'receive_window', 'slow_sender', 'slow_receiver',
  'loss', 'path', 'pace', 'too_short'];
// Between the largest buffer that was asked for and the kernel's own.
const BESIDE = 0.6;
// Labels of ticks that are nearer to each other would touch.
const TICK_APART = 34;

const LOG_BITS = { label: 'bits a second, logarithmic', tick: shortRate, read: (v) => inUnits(BIT_RATE, v), log: true, gap: 11 };

function sweepPlace(point, auto) {
  return isNumber(point.socket_buffer_bytes) ? Math.log10(point.socket_buffer_bytes) : auto;
}

function sweepPicture({ result, facts }) {
  const points = result.points.map((p, i) => ({ ...p, fact: facts.points[i] || {} })).filter((p) => p.rate);
  if (!points.length) return [note('No transfer came to its end: there is nothing to draw.')];
  const asked = points.map((p) => p.socket_buffer_bytes).filter(isNumber);
  const auto = asked.length ? Math.log10(largest(asked)) + BESIDE : 0;
  const xs = [...new Set(points.map((p) => sweepPlace(p, auto)))].sort((a, b) => a - b);
  const names = new Map(points.map((p) => [sweepPlace(p, auto), p.fact.buffer]));
  const series = sweepLines(points, xs, auto);
  const ends = points.flatMap((p) => whisker(p.rate)).filter((v) => v > 0);
  return [colourKey(facts.causes.map((c) => [c.name + ' (' + counted(c.points, 'point') + ')', causeColour(c.cause), 'shape ' + shapeOf(c.cause)])),
    chart({
      id: 'sweep', title: 'Median rate', quantity: LOG_BITS, xs, series, height: 380,
      about: 'The median rate of each point, logarithmic, over the send buffer that was asked for, logarithmic too.',
      reach: ends.length ? [smallest(ends), largest(ends)] : null, x: sweepAxis(xs, names),
      over: (u) => markCauses(u, series),
    }),
    note('Marks have the colour and the shape of what limited most of the trials. ', points.some((p) => p.rate.interval_bytes_per_s)
      ? 'Whiskers are 95 % intervals of the median, by the sign test.' : 'Whiskers reach from the slowest trial to the fastest.')];
}

function sweepAxis(xs, names) {
  const near = (v) => xs.find((x) => Math.abs(x - v) < 1e-6);
  const name = (v) => (near(v) === undefined ? '' : names.get(near(v)));
  return {
    label: 'send buffer asked for, bytes', head: 'send buffer', tick: name, cell: name, read: (v) => 'send buffer ' + name(v),
    splits: (u) => xs.filter((x) => x >= u.scales.x.min - 1e-9 && x <= u.scales.x.max + 1e-9)
      .reduce((kept, x) => (kept.length && u.valToPos(x, 'x') - u.valToPos(kept[kept.length - 1], 'x') < TICK_APART ? kept : [...kept, x]), []),
  };
}

function sweepLines(points, xs, auto) {
  const names = [...new Set(points.map((p) => p.fact.series))];
  return names.map((name, i) => {
    const at = xs.map((x) => points.find((p) => p.fact.series === name && Math.abs(sweepPlace(p, auto) - x) < 1e-9) || null);
    return { label: name, colour: SWEEP_COLOURS[i % SWEEP_COLOURS.length], look: SWEEP_LOOKS[Math.floor(i / 2) % SWEEP_LOOKS.length], joined: true,
      values: at.map((p) => (p && p.rate.median_bytes_per_s > 0 ? inBits(p.rate.median_bytes_per_s) : null)), at };
  });
}

function whisker(rate) {
  return (rate.interval_bytes_per_s || [rate.lowest_bytes_per_s, rate.highest_bytes_per_s]).map(inBits);
}

function shapeOf(cause) {
  return MARK_SHAPES[Math.max(0, CAUSES.indexOf(cause)) % MARK_SHAPES.length];
}

function markCauses(u, series) {
  around(u, () => series.forEach((s, k) => {
    if (!u.series[k + 1].show) return;
    s.at.forEach((p, i) => {
      if (!p || !isNumber(s.values[i])) return;
      const x = u.valToPos(u.data[0][i], 'x', true);
      drawWhisker(u, x, whisker(p.rate), s.colour);
      drawMark(u, x, u.valToPos(s.values[i], 'y', true), p.cause ? p.cause[0] : 'unknown');
    });
  }));
}

// A mark at the edge of the plot is to be seen as a whole.
function around(u, paint) {
  const more = 10 * devicePixelRatio;
  const { left, top, width, height } = u.bbox;
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(left - more, top - more, width + 2 * more, height + 2 * more);
  u.ctx.clip();
  paint();
  u.ctx.restore();
}

function drawWhisker(u, x, [low, high], paint) {
  if (!(low > 0) || !(high > low)) return;
  u.ctx.strokeStyle = colour(paint);
  u.ctx.lineWidth = 1.5 * devicePixelRatio;
  u.ctx.setLineDash([]);
  u.ctx.beginPath();
  u.ctx.moveTo(x, u.valToPos(low, 'y', true));
  u.ctx.lineTo(x, u.valToPos(high, 'y', true));
  u.ctx.stroke();
}

function drawMark(u, x, y, cause) {
  const r = 6 * devicePixelRatio;
  const { ctx } = u;
  ctx.beginPath();
  switch (shapeOf(cause)) {
    case 'square': ctx.rect(x - 0.85 * r, y - 0.85 * r, 1.7 * r, 1.7 * r); break;
    case 'diamond': polygon(ctx, [[x, y - 1.2 * r], [x + 1.2 * r, y], [x, y + 1.2 * r], [x - 1.2 * r, y]]); break;
    case 'triangle': polygon(ctx, [[x, y - 1.1 * r], [x + 1.1 * r, y + 0.9 * r], [x - 1.1 * r, y + 0.9 * r]]); break;
    default: ctx.arc(x, y, r, 0, 2 * Math.PI);
  }
  ctx.fillStyle = colour(causeColour(cause));
  ctx.fill();
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.setLineDash([]);
  ctx.strokeStyle = colour('ground');
  ctx.stroke();
}

function polygon(ctx, corners) {
  corners.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
  ctx.closePath();
}
