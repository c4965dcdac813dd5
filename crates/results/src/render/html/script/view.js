// What a chart draws of its values: all of them, or, where they are more than a screen has places for,
// the lowest and the highest of each bin. Bins are made anew for what is in view.

const MOST_DRAWN = 4000;
const BINS = 1000;

// Whether what is drawn depends on what is in view.
function dependsOnView(spec) {
  return Boolean(spec.view) || spec.xs.length > MOST_DRAWN;
}

// {xs, columns, binned: values in a bin, where they are binned}.
function viewOf(spec, from, to) {
  if (spec.view) return spec.view(from, to);
  const columns = spec.series.map((s) => s.values);
  if (!dependsOnView(spec)) return { xs: spec.xs, columns };
  // One place more at either side, so that lines run out of the picture.
  const first = Math.max(0, firstAtLeast(spec.xs, from) - 1);
  const end = Math.min(spec.xs.length, firstAtLeast(spec.xs, to) + 2);
  if (end - first <= MOST_DRAWN) return { xs: spec.xs.slice(first, end), columns: columns.map((c) => c.slice(first, end)) };
  return spec.stacked ? binnedTogether(spec.xs, columns, first, end) : binnedApart(spec.xs, columns, first, end);
}

// The place of the first of rising values that is not below another.
function firstAtLeast(values, wanted, from = 0, end = values.length) {
  let [low, high] = [from, end];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The place after the last that is not above another.
function firstAbove(values, wanted, from = 0, end = values.length) {
  let place = firstAtLeast(values, wanted, from, end);
  while (place < end && values[place] === wanted) place += 1;
  return place;
}

function binEdges(first, end) {
  return Array.from({ length: BINS + 1 }, (_, k) => first + Math.floor(k * (end - first) / BINS));
}

// Each curve has its own lowest and highest in a bin, in the order in which they come.
function binnedApart(xs, columns, first, end) {
  const edges = binEdges(first, end);
  const rows = edges.slice(1).map((edge, k) => [edges[k], edge - 1]);
  const drawn = columns.map((values) => rows.flatMap(([a, b]) => extremes(values, a, b).map((i) => (i < 0 ? null : values[i]))));
  return { xs: rows.flatMap(([a, b]) => [xs[a], xs[b]]), columns: drawn, binned: Math.ceil((end - first) / BINS) };
}

// Layers stand on each other: what is drawn of one must be drawn of all.
function binnedTogether(xs, columns, first, end) {
  const sums = xs.map((_, i) => columns.reduce((sum, values) => sum + (values[i] || 0), 0));
  const edges = binEdges(first, end);
  const rows = edges.slice(1).flatMap((edge, k) => extremes(sums, edges[k], edge - 1)).filter((i) => i >= 0);
  return { xs: rows.map((i) => xs[i]), columns: columns.map((values) => rows.map((i) => values[i])),
    binned: Math.ceil((end - first) / BINS) };
}

// The places of the lowest and the highest value from one place to another; below zero where there is none.
function extremes(values, from, to) {
  let [low, high] = [-1, -1];
  for (let i = from; i <= to; i += 1) {
    if (!isNumber(values[i])) continue;
    if (low < 0 || values[i] < values[low]) low = i;
    if (high < 0 || values[i] > values[high]) high = i;
  }
  return low <= high ? [low, high] : [high, low];
}

// As uPlot wants it. Layers stand on each other, the topmost first, so that the lower ones are drawn over it.
function dataOf(spec, { xs, columns }, hidden) {
  if (!spec.stacked) return [xs, ...columns];
  const heights = xs.map((_, i) => {
    if (!columns.some((values) => isNumber(values[i]))) return columns.map(() => null);
    let below = 0;
    return columns.map((values, k) => (hidden.has(k) ? 0 : values[i] || 0))
      .reduceRight((stack, value) => [below += value, ...stack], []);
  });
  return [xs, ...columns.map((_, k) => heights.map((column) => column[k]))];
}
