// A chart of curves over one x: zoomable, with values under the cursor, curves that can be
// switched, and a table of the same values.
//
// spec: {id, title, about, x, xs, series: [{label, group, colour, look, values, joined}],
//        height, sync, stacked, bands: [{from, to, label, shaded}],
//        tabled: builds another table of the same values, csv: makes another text of them,
//        view, whole: instead of xs and values, what is drawn from one x to another, and which x there are,
//        between: [a, b]: the space between two curves is filled,
//        quantity: of other values than times, reach: [low, high] beyond the values, over: draws on top};
// look: strong, dashed, thin, faint, broad, points, dots, layer, area, steps, quiet...; joined: across gaps.

const charts = {};

// More curves than these could not be distinguished, and take long.
const MOST_CURVES = 200;

function chart(wanted) {
  const spec = { ...wanted, id: scope + wanted.id, sync: wanted.sync && scope + wanted.sync,
    series: wanted.series.slice(0, MOST_CURVES) };
  const first = viewOf(spec, ...wholeOf(spec));
  const top = largest(first.columns.map((values) => largest(values.filter(isNumber).map(Math.abs))));
  if (top === -Infinity) return note(spec.title + ': there is no value to draw.');
  const q = spec.quantity || timesUpTo(top);
  const state = { plot: null, hidden: new Set(), shown: first, whole: wholeOf(spec), range: wholeOf(spec) };
  const legend = makeLegend(spec, (group, shown) => toggle(state, spec, group, shown));
  const parts = { state, spec, q, legend, binned: el('span', { class: 'unit' }) };
  sayBinned(parts.binned, first);
  parts.reset = el('button', { type: 'button', class: 'reset', hidden: true, onclick: () => showWhole(parts) }, 'whole range');
  parts.canvas = el('div', { class: 'plot', tabindex: 0, role: 'group', 'aria-roledescription': 'chart',
    'aria-label': spec.title + '. ' + spec.about + ' Left and right move the reading, plus and minus zoom, '
      + '0 shows the whole range. The same values stand in the table below.' });
  const csv = el('button', { type: 'button', class: 'csv', title: 'Save the values of this chart as CSV',
    'aria-label': 'Save “' + spec.title + '” as CSV', onclick: () => saveCsv(spec.title, csvOf(spec, q)) }, 'CSV');
  const figure = el('figure', { class: 'chart', id: 'chart-' + spec.id },
    el('figcaption', {}, el('b', {}, spec.title), el('span', { class: 'unit' }, ' ' + q.label), parts.binned,
      el('span', { class: 'tools' }, parts.reset, csv)),
    legend.node, parts.canvas,
    wanted.series.length > MOST_CURVES && note('Only the first ' + MOST_CURVES + ' of ' + count(wanted.series.length) + ' curves are drawn; the record has them all.'),
    lazyDetails('as a table', () => (spec.tabled ? spec.tabled(state.range) : chartTable(spec, q))));
  // Its width is known once it is in the page.
  drawLater.push(() => draw(parts));
  return figure;
}

function wholeOf(spec) {
  return spec.whole || [spec.xs[0], spec.xs[spec.xs.length - 1]];
}

const drawLater = [];

function drawAll() {
  while (drawLater.length) drawLater.shift()();
}

function draw(parts) {
  const { state, spec, q, legend, canvas } = parts;
  const options = {
    width: Math.max(canvas.clientWidth, 200),
    height: spec.height || 240,
    legend: { show: false },
    scales: { x: { time: false }, y: yScale(q, (spec.bands || []).some((band) => band.label), spec.reach) },
    axes: [xAxis(spec.x), yAxis(q)],
    series: [{}, ...spec.series.map((s) => lineOf(s))],
    bands: spec.between ? [{ series: spec.between.map((i) => i + 1), fill: () => faint(spec.series[spec.between[0]].colour) }] : [],
    cursor: { points: { size: 6 }, drag: { x: true, y: false },
      bind: { dblclick: () => () => { showWhole(parts); return null; } },
      sync: spec.sync ? { key: spec.sync, scales: ['x', null] } : undefined },
    hooks: {
      drawClear: [(u) => drawBands(u, spec.bands || [])],
      drawAxes: [(u) => nameBands(u, spec.bands || [])],
      draw: [(u) => spec.over && spec.over(u)],
      setCursor: [(u) => showReading(legend, spec, state.shown, u.cursor.idx, q)],
      setScale: [(u, key) => key === 'x' && zoomed(parts, u)],
    },
  };
  const data = dataOf(spec, state.shown, state.hidden);
  const plot = new uPlot(options, data, canvas);
  state.plot = plot;
  // Bins end within the range that they are of.
  if (dependsOnView(spec)) showWhole(parts);
  charts[spec.id] = { plot, spec, state };
  repaint.add(() => plot.redraw(false));
  canvas.addEventListener('keydown', (event) => onKey(event, parts));
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

function toggle(state, spec, group, shown) {
  for (const i of group.indices) {
    if (shown) state.hidden.delete(i);
    else state.hidden.add(i);
    state.plot.setSeries(i + 1, { show: shown });
  }
  if (spec.stacked) state.plot.setData(dataOf(spec, state.shown, state.hidden), false);
  if (spec.stacked) state.plot.redraw();
}

function chartTable(spec, q) {
  const rows = spec.xs.slice(0, MOST_TABLE_ROWS + 1).map((x, i) => ({ x, i }));
  const columns = [{ head: spec.x.head, cell: (r) => spec.x.cell(r.x) }];
  for (const s of spec.series) {
    columns.push({ head: s.label, cell: (r) => (isNumber(s.values[r.i]) ? q.read(s.values[r.i]) : '') });
  }
  return table(spec.title, columns, rows, spec.xs.length);
}
