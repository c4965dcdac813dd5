// Rate or round trip over the size, a line a layer, and beside it the multiples of the first layer:
// a row of two charts for each pair of processors, all on one scale.

const SIZE_APART = 40;

function messagePicture(context) {
  const groups = messageGroups(context);
  if (!groups.length) return [note('No trial was finished: there is nothing to draw.')];
  const { facts } = context;
  const quantity = messageQuantity(facts);
  const all = facts.cells;
  const shared = { quantity, facts, reach: reachOfShown(all, (c) => c.figure), ratios: ratioScale(all) };
  return [choice('placement', groups.map((p) => ({ name: p.name + ': ' + p.words, build: () =>
    el('div', {}, p.pairs.map((g) => sizeCharts(p, g, shared))) }))),
  note('Whiskers are 95 % intervals between trials; one that leaves the picture reaches zero and tells nothing. All pictures have the same scale. ' + capital(facts.ratio_name) + ': multiples of ',
    el('code', {}, facts.first), facts.quantity === 'time' ? '; below 1 is faster.' : '; above 1 is faster.'), kernelEndsOf(facts)];
}

// What is too wide widens no scale: it has no ends.
function bounds(figure) {
  return isNumber(figure.half) && !tooWide(figure) ? [figure.value - figure.half, figure.value + figure.half] : [figure.value, figure.value];
}

function reachOf(figures) {
  const ends = figures.filter(Boolean).flatMap((f) => [f.value, ...bounds(f)]).filter((v) => v > 0);
  return ends.length ? [smallest(ends), largest(ends)] : null;
}

// All pictures have one scale, which a layer that is switched off leaves.
function reachOfShown(cells, pick, more) {
  return (u) => {
    const shown = new Set(u.series.filter((s) => s.show).map((s) => s.label));
    return reachOf([...cells.filter((c) => shown.has(c.layer)).map(pick), ...(more || [])]);
  };
}

// Ratios begin at zero, unless they span so much that the small ones would be one line at its edge.
const MOST_LINEAR = 12;

function ratioScale(cells) {
  const one = [{ value: 1 }];
  const most = reachOf([...cells.map((c) => c.ratio), ...one])[1];
  const least = smallest(cells.filter((c) => c.ratio).map((c) => c.ratio.value));
  const log = most > MOST_LINEAR || least * MOST_LINEAR < 1;
  const quantity = { label: log ? 'times, logarithmic' : 'times', tick: (v) => '\u00d7\u00a0' + (v >= 1e4 ? shortRate(v) : trimZeros(v)),
    read: (v) => '\u00d7\u00a0' + eachText(v), log, zero: !log, gap: log ? 6 : 4 };
  return { quantity, reach: reachOfShown(cells, (c) => c.ratio, one) };
}

function sizeCharts(placement, group, { quantity, facts, reach, ratios }) {
  const sizes = messageSizes(group.cells);
  const looks = messageLooks(facts.layers);
  const lines = (pick) => layersOf(facts, group.cells).map((layer) => {
    const at = sizes.map((bytes) => group.cells.find((c) => c.bytes === bytes && c.fact.layer === layer)).map((c) => (c && pick(c.fact)) || null);
    return { label: layer, ...looks.get(layer), joined: true, marked: true, at, values: at.map((f) => (f && f.value > 0 ? f.value : null)) };
  });
  const figures = lines((c) => c.figure);
  const multiples = lines((c) => c.ratio).filter((s) => s.values.some(isNumber));
  const common = { xs: sizes.map(Math.log2), height: 300, x: sizeAxis(sizes, facts.size_name) };
  return el('div', { class: 'multiple' }, el('h3', {}, placement.name + ' on ' + group.name), columnsOf([
    chart({ ...common, id: 'message-' + group.id, title: capital(facts.quantity_name), quantity, series: figures, reach,
      about: facts.quantity_name + ' over the size, both logarithmic, a line for each layer.', over: (u) => drawFigures(u, figures) }),
    multiples.length ? chart({ ...common, id: 'message-ratio-' + group.id, title: 'Ratio to ' + facts.first, quantity: ratios.quantity, series: multiples,
      reach: ratios.reach, about: 'Multiples of the first layer over the size.',
      over: (u) => { drawLevelLine(u, 1); drawFigures(u, multiples); } }) : note('There is nothing to compare with ' + (facts.first || 'anything') + '.'),
  ]));
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function sizeAxis(sizes, label) {
  const name = (v) => sizeText(Math.round(2 ** v));
  const xs = sizes.map(Math.log2);
  return {
    label, head: 'size', cell: name, read: (v) => 'at ' + name(v), tick: name,
    splits: (u) => xs.filter((x) => x >= u.scales.x.min - 1e-9 && x <= u.scales.x.max + 1e-9)
      .reduce((kept, x) => (kept.length && u.valToPos(x, 'x') - u.valToPos(kept[kept.length - 1], 'x') < SIZE_APART ? kept : [...kept, x]), []),
  };
}

function drawFigures(u, series) {
  around(u, () => series.forEach((s, k) => {
    if (!u.series[k + 1].show) return;
    s.at.forEach((f, i) => {
      if (!f || !isNumber(s.values[i]) || !isNumber(f.half)) return;
      const [low, high] = bounds(f);
      // One that reaches zero leaves the picture at both ends.
      drawWhisker(u, u.valToPos(u.data[0][i], 'x', true), tooWide(f) ? [Math.max(u.scales.y.min, Number.MIN_VALUE), u.scales.y.max] : [low, high], s.colour);
    });
  }));
}
