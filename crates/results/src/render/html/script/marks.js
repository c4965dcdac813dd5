// Marks with whiskers on the curves of a chart, and an axis with names at its places.

// Pixels of a letter under an axis.
const LETTER = 6.5;
const MOST_LETTERS = 14;

// The end of a name, or of a path, says more than its beginning.
function shortName(text, longest) {
  const name = String(text).split('/').pop() || String(text);
  return name.length > longest ? '\u2026' + name.slice(1 - longest) : name;
}

function namedAxis({ xs, names, x_label }) {
  const near = (v) => xs.findIndex((x) => Math.abs(x - v) < 1e-6);
  const name = (v) => names[near(v)] || '';
  const apart = 12 + LETTER * largest(names.map((n) => shortName(n, MOST_LETTERS).length), 0);
  return {
    label: x_label, head: x_label, tick: (v) => shortName(name(v), MOST_LETTERS), cell: name, read: (v) => x_label + ' ' + name(v),
    splits: (u) => xs.filter((x) => x >= u.scales.x.min - 1e-9 && x <= u.scales.x.max + 1e-9)
      .reduce((kept, x) => (kept.length && u.valToPos(x, 'x') - u.valToPos(kept[kept.length - 1], 'x') < apart ? kept : [...kept, x]), []),
  };
}

function drawMarks(u, series) {
  // A mark at the edge of the plot is to be seen as a whole.
  within(u, () => series.forEach((s, k) => {
    // Curves beyond the most are not in the plot.
    if (!(u.series[k + 1] && u.series[k + 1].show)) return;
    (s.marks || []).forEach((mark, i) => {
      if (!mark || !isNumber(s.values[i])) return;
      const x = u.valToPos(u.data[0][i], 'x', true);
      drawWhisker(u, x, mark.ends, s.colour);
      drawMark(u, x, u.valToPos(s.values[i], 'y', true), mark);
    });
  }), 10 * devicePixelRatio);
}

function drawWhisker(u, x, [low, high], paint) {
  if (!isNumber(low) || !isNumber(high) || !(high > low)) return;
  u.ctx.strokeStyle = colour(paint);
  u.ctx.lineWidth = 1.5 * devicePixelRatio;
  u.ctx.setLineDash([]);
  u.ctx.beginPath();
  // A logarithm has no place at zero and below.
  u.ctx.moveTo(x, u.valToPos(u.scales.y.distr === 3 ? Math.max(low, u.scales.y.min) : low, 'y', true));
  u.ctx.lineTo(x, u.valToPos(high, 'y', true));
  u.ctx.stroke();
}

function drawMark(u, x, y, { color, shape }) {
  const r = 6 * devicePixelRatio;
  const { ctx } = u;
  ctx.beginPath();
  switch (shape) {
    case 'square': ctx.rect(x - 0.85 * r, y - 0.85 * r, 1.7 * r, 1.7 * r); break;
    case 'diamond': polygon(ctx, [[x, y - 1.2 * r], [x + 1.2 * r, y], [x, y + 1.2 * r], [x - 1.2 * r, y]]); break;
    case 'triangle': polygon(ctx, [[x, y - 1.1 * r], [x + 1.1 * r, y + 0.9 * r], [x - 1.1 * r, y + 0.9 * r]]); break;
    case 'dot': ctx.arc(x, y, 0.7 * r, 0, 2 * Math.PI); break;
    default: ctx.arc(x, y, r, 0, 2 * Math.PI);
  }
  ctx.fillStyle = colour(color);
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
