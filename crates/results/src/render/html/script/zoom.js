// Zooming and reading a chart, by mouse and by keys. parts: {state, spec, q, legend, reset, binned, canvas}.

function showWhole({ state, spec }) {
  const [min, max] = state.whole;
  if (dependsOnView(spec)) state.plot.setScale('x', { min, max });
  else state.plot.setData(state.plot.data, true);
}

// Charts of one run zoom together. uPlot tells of a change later, when it has drawn, so what
// ends the echo between them is that they agree.
function zoomed(parts, plot) {
  const { state, spec, reset } = parts;
  const { min, max } = plot.scales.x;
  reset.hidden = !(min > state.whole[0] || max < state.whole[1]);
  if (dependsOnView(spec)) remake(parts, plot, min, max);
  if (!spec.sync) return;
  Object.values(charts)
    .filter((c) => c.spec.sync === spec.sync && c.plot !== plot)
    .filter((c) => c.plot.scales.x.min !== min || c.plot.scales.x.max !== max)
    .forEach((c) => c.plot.setScale('x', { min, max }));
}

// What is in view is drawn anew from all values. Not within the drawing that reported it.
function remake({ state, spec, binned }, plot, min, max) {
  if (state.range[0] === min && state.range[1] === max) return;
  state.range = [min, max];
  queueMicrotask(() => {
    if (state.range[0] !== min || state.range[1] !== max) return;
    state.shown = viewOf(spec, min, max);
    sayBinned(binned, state.shown);
    plot.batch(() => {
      plot.setData(dataOf(spec, state.shown, state.hidden), false);
      plot.setScale('x', { min, max });
    });
  });
}

function sayBinned(node, shown) {
  node.textContent = shown.binned ? 'lowest and highest of ' + count(shown.binned) + ' values each; zoom in for every one' : '';
}

function onKey(event, parts) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (step !== undefined) moveReading(parts, step);
  else if (event.key === '+' || event.key === '=') zoomBy(parts, 0.5);
  else if (event.key === '-') zoomBy(parts, 2);
  else if (event.key === '0' || event.key === 'Escape') showWhole(parts);
  else return;
  event.preventDefault();
}

function moveReading({ state, legend }, step) {
  const { plot, shown } = state;
  const { min, max } = plot.scales.x;
  const inView = (i) => Math.max(firstAtLeast(shown.xs, min), Math.min(firstAtLeast(shown.xs, max), shown.xs.length - 1, i));
  const start = step > 0 ? 0 : shown.xs.length - 1;
  const index = inView(isNumber(plot.cursor.idx) ? plot.cursor.idx + step : start);
  legend.place.setAttribute('aria-live', 'polite');
  plot.setCursor({ left: plot.valToPos(shown.xs[index], 'x'), top: plot.bbox.height / 4 });
}

// Beyond this part of the whole there is nothing between two numbers any more.
const LEAST_PART = 1e-10;

function zoomBy({ state }, factor) {
  const { plot, whole } = state;
  const { min, max } = plot.scales.x;
  if (factor < 1 && max - min <= (whole[1] - whole[0]) * LEAST_PART) return;
  const middle = isNumber(plot.cursor.left) && plot.cursor.left >= 0
    ? plot.posToVal(plot.cursor.left, 'x') : (min + max) / 2;
  plot.setScale('x', {
    min: Math.max(whole[0], middle - (middle - min) * factor),
    max: Math.min(whole[1], middle + (max - middle) * factor),
  });
}
