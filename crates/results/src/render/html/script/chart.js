// A chart of curves over one x: zoomable, with values under the cursor, curves that can be
// switched, and a table of the same values.
//
// spec: {id, title, about, x, xs, kind, series: [{label, group, colour, look, values, joined}],
//        height, sync, stacked, bands: [{from, to, label, shaded}],
//        tabled: builds another table of the same values,
//        quantity: instead of kind, reach: [low, high] beyond the values, or what tells it of a plot, over: draws on top};
// look: strong, dashed, thin, faint, broad, points, dots, layer, area, steps, quiet...; joined: across gaps.

const charts = {};

function chart(wanted) {
  const spec = { ...wanted, id: scope + wanted.id, sync: wanted.sync && scope + wanted.sync };
  const values = spec.series.flatMap((s) => s.values.filter(isNumber));
  if (!values.length) return note(spec.title + ': there is no value to draw.');
  const most = values.reduce((top, v) => Math.max(top, Math.abs(v)), 0);
  const q = spec.quantity || quantity(spec.kind, most);
  const state = { plot: null, hidden: new Set() };
  const legend = makeLegend(spec, (group, shown) => toggle(state, spec, group, shown));
  const reset = el('button', { type: 'button', class: 'reset', hidden: true, onclick: () => resetZoom(state) },
    'whole range');
  const canvas = el('div', { class: 'plot', tabindex: 0, role: 'group', 'aria-roledescription': 'chart',
    'aria-label': spec.title + '. ' + spec.about + ' Left and right move the reading, plus and minus zoom, '
      + '0 shows the whole range. The same values stand in the table below.' });
  const figure = el('figure', { class: 'chart', id: 'chart-' + spec.id },
    el('figcaption', {}, el('b', {}, spec.title), el('span', { class: 'unit' }, ' ' + q.label), reset),
    legend.node, canvas,
    lazyDetails('as a table', () => (spec.tabled ? spec.tabled() : chartTable(spec, q))));
  const parts = { state, spec, q, legend, reset, canvas };
  // Its width is known once it is in the page.
  drawLater.push(() => draw(parts));
  return figure;
}

const drawLater = [];

function drawAll() {
  while (drawLater.length) drawLater.shift()();
}

function draw({ state, spec, q, legend, reset, canvas }) {
  const options = {
    width: Math.max(canvas.clientWidth, 200),
    height: spec.height || 240,
    legend: { show: false },
    scales: { x: { time: false }, y: yScale(q, Boolean(spec.bands), spec.reach) },
    axes: [xAxis(spec.x), yAxis(q)],
    series: [{}, ...spec.series.map((s) => lineOf(s))],
    cursor: { points: { size: 6 }, drag: { x: true, y: false },
      sync: spec.sync ? { key: spec.sync, scales: ['x', null] } : undefined },
    hooks: {
      drawClear: [(u) => drawBands(u, spec.bands || [])],
      drawAxes: [(u) => nameBands(u, spec.bands || [])],
      draw: [(u) => spec.over && spec.over(u)],
      setCursor: [(u) => showReading(legend, spec, u.cursor.idx, q)],
      setScale: [(u, key) => key === 'x' && zoomed(u, spec, reset)],
    },
  };
  const plot = new uPlot(options, dataOf(spec, state.hidden), canvas);
  state.plot = plot;
  charts[spec.id] = { plot, spec };
  repaint.add(() => plot.redraw(false));
  canvas.addEventListener('keydown', (event) => onKey(event, plot, legend, spec));
  new ResizeObserver(() => fit(plot, canvas)).observe(canvas);
}

// A sheet of paper is narrower than most screens, and does not tell before it is printed.
const PAPER_WIDTH = 680;

window.addEventListener('beforeprint', () => {
  Object.values(charts).forEach(({ plot }) => plot.setSize({ width: PAPER_WIDTH, height: plot.height }));
});
window.addEventListener('afterprint', () => {
  Object.values(charts).forEach(({ plot }) => fit(plot, plot.root.parentElement));
});

function fit(plot, canvas) {
  const width = canvas.clientWidth;
  if (width > 0 && Math.abs(width - plot.width) > 1) plot.setSize({ width, height: plot.height });
}

// Stretches of the x axis: shaded under everything else, named above the grid.
function drawBands(u, bands) {
  within(u, () => {
    for (const band of bands.filter((b) => b.shaded)) {
      const from = u.valToPos(band.from, 'x', true);
      u.ctx.fillStyle = colour('band');
      u.ctx.fillRect(from, u.bbox.top, u.valToPos(band.to, 'x', true) - from, u.bbox.height);
    }
  });
}

function nameBands(u, bands) {
  within(u, () => {
    u.ctx.font = FONT.replace('11px', 11 * devicePixelRatio + 'px');
    u.ctx.textBaseline = 'top';
    u.ctx.textAlign = 'center';
    u.ctx.fillStyle = colour('muted');
    for (const band of bands) {
      const middle = u.valToPos((band.from + band.to) / 2, 'x', true);
      u.ctx.fillText(band.label, middle, u.bbox.top + 3 * devicePixelRatio);
    }
  });
}

// Draws on a chart without reaching out of its plot.
function within(u, paint) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  paint();
  ctx.restore();
}

// A line across the plot at one value.
function drawLevelLine(u, value) {
  within(u, () => {
    const y = u.valToPos(value, 'y', true);
    u.ctx.strokeStyle = colour('ink');
    u.ctx.lineWidth = devicePixelRatio;
    u.ctx.setLineDash([]);
    u.ctx.beginPath();
    u.ctx.moveTo(u.bbox.left, y);
    u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
    u.ctx.stroke();
  });
}

// Lines of others, told apart by their dashes.
const QUIET_DASHES = { quiet: [], 'quiet-dashed': [7, 4], 'quiet-dotted': [2, 3], 'quiet-dashdot': [9, 3, 2, 3] };

function lineOf(s) {
  const line = { label: s.label, scale: 'y', spanGaps: Boolean(s.joined), points: { show: false } };
  const plain = () => colour(s.colour);
  if (s.look in QUIET_DASHES) {
    return { ...line, width: 1.5, dash: QUIET_DASHES[s.look], stroke: plain,
      points: { show: Boolean(s.marked), size: 4, width: 0, fill: plain } };
  }
  switch (s.look) {
    case 'thin': return { ...line, width: 1, stroke: plain };
    case 'dashed': return { ...line, width: 2, dash: [6, 4], stroke: plain };
    case 'dots': return { ...line, paths: () => null, stroke: plain, points: { show: true, size: 8, width: 0, fill: plain } };
    // A bar of a histogram reaches from its place to the next.
    case 'area': return { ...line, width: 1.5, stroke: plain, fill: () => faint(s.colour), paths: uPlot.paths.stepped({ align: 1 }) };
    case 'steps': return { ...line, width: 2, stroke: plain, paths: uPlot.paths.stepped({ align: 1 }) };
    case 'faint': return { ...line, width: 1, stroke: () => faint(s.colour) };
    case 'broad': return { ...line, width: 7, stroke: () => faint(s.colour) };
    case 'layer': return { ...line, width: 1, stroke: () => colour('ground'), fill: plain };
    case 'points': return { ...line, paths: () => null, stroke: () => faint(s.colour),
      points: { show: true, size: 5, width: 0, fill: () => faint(s.colour) } };
    // A line of one value has no length; only a point shows it.
    default: return { ...line, width: 2, stroke: plain,
      points: { show: Boolean(s.marked) || s.values.filter(isNumber).length < 2, size: s.marked ? 6 : 8, fill: plain } };
  }
}

// Layers stand on each other, the topmost first, so that the lower ones are drawn over it.
function dataOf(spec, hidden) {
  if (!spec.stacked) return [spec.xs, ...spec.series.map((s) => s.values)];
  const heights = spec.xs.map((_, i) => {
    if (!spec.series.some((s) => isNumber(s.values[i]))) return spec.series.map(() => null);
    let below = 0;
    return spec.series.map((s, k) => (hidden.has(k) ? 0 : s.values[i] || 0))
      .reduceRight((stack, value) => [below += value, ...stack], []);
  });
  return [spec.xs, ...spec.series.map((_, k) => heights.map((column) => column[k]))];
}

function toggle(state, spec, group, shown) {
  for (const i of group.indices) {
    if (shown) state.hidden.delete(i);
    else state.hidden.add(i);
    state.plot.setSeries(i + 1, { show: shown });
  }
  if (spec.stacked) state.plot.setData(dataOf(spec, state.hidden), false);
  if (spec.stacked) state.plot.redraw();
}

function wholeRange(plot) {
  const xs = plot.data[0];
  return { min: xs[0], max: xs[xs.length - 1] };
}

function resetZoom(state) {
  const { plot } = state;
  plot.setData(plot.data, true);
}

// Charts of one run zoom together. uPlot tells of a change later, when it has drawn, so what
// ends the echo between them is that they agree.
function zoomed(plot, spec, reset) {
  const whole = wholeRange(plot);
  const { min, max } = plot.scales.x;
  reset.hidden = !(min > whole.min || max < whole.max);
  if (!spec.sync) return;
  Object.values(charts)
    .filter((c) => c.spec.sync === spec.sync && c.plot !== plot)
    .filter((c) => c.plot.scales.x.min !== min || c.plot.scales.x.max !== max)
    .forEach((c) => c.plot.setScale('x', { min, max }));
}

function onKey(event, plot, legend, spec) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (step !== undefined) moveReading(plot, legend, spec, step);
  else if (event.key === '+' || event.key === '=') zoomBy(plot, 0.5);
  else if (event.key === '-') zoomBy(plot, 2);
  else if (event.key === '0' || event.key === 'Escape') plot.setData(plot.data, true);
  else return;
  event.preventDefault();
}

function moveReading(plot, legend, spec, step) {
  const last = spec.xs.length - 1;
  const start = step > 0 ? 0 : last;
  const index = isNumber(plot.cursor.idx) ? Math.max(0, Math.min(last, plot.cursor.idx + step)) : start;
  legend.place.setAttribute('aria-live', 'polite');
  plot.setCursor({ left: plot.valToPos(spec.xs[index], 'x'), top: plot.bbox.height / 4 });
}

function zoomBy(plot, factor) {
  const whole = wholeRange(plot);
  const { min, max } = plot.scales.x;
  const middle = isNumber(plot.cursor.left) && plot.cursor.left >= 0
    ? plot.posToVal(plot.cursor.left, 'x') : (min + max) / 2;
  plot.setScale('x', {
    min: Math.max(whole.min, middle - (middle - min) * factor),
    max: Math.min(whole.max, middle + (max - middle) * factor),
  });
}

function chartTable(spec, q) {
  const rows = spec.xs.map((x, i) => ({ x, i }));
  const columns = [{ head: spec.x.head, cell: (r) => spec.x.cell(r.x) }];
  for (const s of spec.series) {
    columns.push({ head: s.label, cell: (r) => (isNumber(s.values[r.i]) ? q.read(s.values[r.i]) : '') });
  }
  return table(spec.title, columns, rows);
}
