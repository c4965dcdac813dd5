// Axes and scales of the charts.

const FONT = '11px ui-sans-serif, system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

function baseAxis(more) {
  return {
    stroke: () => colour('muted'),
    grid: { stroke: () => colour('grid'), width: 1 },
    ticks: { show: false },
    font: FONT,
    labelFont: FONT,
    ...more,
  };
}

// What a quantity looks like on an axis and in a reading.
const RATES = { label: 'messages a second', unit: 'messages a second', tick: shortRate, read: rate };
const LOG_TIMES = { label: 'time, logarithmic', unit: 'ns', tick: tickTime, read: time, log: true };

// Times in the unit of the longest of them.
function timesUpTo(most) {
  const [size, , name] = unitOf(TIME, most);
  return { label: name.trim(), unit: 'ns', tick: (v) => trueMinus(trimZeros(v / size)), read: time };
}

// Names at the top of a chart need a place that no curve crosses.
function yScale(q, named, reach) {
  const [least, most] = reach || [Infinity, -Infinity];
  const range = (u, low, high) => {
    if (q.log) return logRange(Math.min(low, least), Math.max(high, most));
    return zeroRange(Math.min(low, least), Math.max(named ? high * 1.16 : high, most));
  };
  return q.log ? { distr: 3, log: 10, range } : { range };
}

// Charts of times start at zero: a cut axis would make noise look like a cliff.
function zeroRange(low, high) {
  if (!isNumber(high)) return [0, 1];
  const bottom = Math.min(0, low * 1.08);
  const top = Math.max(high * 1.08, 0);
  return bottom === top ? [0, 1] : [bottom, top];
}

function logRange(low, high) {
  if (!isNumber(low) || !isNumber(high) || low <= 0) return [1, 10];
  return [low / 1.25, high * 1.25];
}

function yAxis(q) {
  return baseAxis({
    size: q.log ? 58 : 46,
    gap: q.gap || 4,
    values: (u, splits) => splits.map((v) => (v === null ? '' : q.tick(v))),
    splits: q.log ? (u) => decades(u.scales.y.min, u.scales.y.max) : undefined,
    filter: q.log ? (u, splits) => splits : undefined,
  });
}

// 1, 10, 100 ... and what lies between them where there are only few.
function decades(min, max) {
  const wide = Math.log10(max / min);
  if (wide < 0.45) return evenly(min, max);
  const steps = wide > 3 ? [1] : wide > 1.5 ? [1, 3] : [1, 2, 3, 5, 7];
  const found = [];
  for (let e = Math.floor(Math.log10(min)); e <= Math.ceil(Math.log10(max)); e += 1) {
    for (const step of steps) {
      const v = step * 10 ** e;
      if (v >= min && v <= max) found.push(v);
    }
  }
  return found;
}

// Where a logarithmic axis is shorter than from 1 to 3, it is nearly a linear one.
function evenly(min, max) {
  const step = niceStep((max - min) / 4);
  const found = [];
  for (let v = Math.ceil(min / step) * step; v <= max; v += step) found.push(Number(v.toPrecision(6)));
  return found;
}

const TIME_X = {
  tick: (v) => trimZeros(v) + ' s',
  read: (v) => 'at ' + seconds(v),
  head: 'time',
  unit: 's',
  cell: seconds,
};

const RATE_X = {
  tick: shortRate,
  read: (v) => 'at ' + rate(v),
  head: 'rate',
  unit: 'messages a second',
  cell: rate,
};

// Percentiles are laid out by their nines: 90, 99 and 99.9 % are equally far apart.
const NINES = [0, 0.5, 0.9, 0.99, 0.999, 0.9999];

function ninesOf(q) {
  return -Math.log10(1 - q);
}

const PERCENTILE_X = {
  tick: (v) => quantileName(1 - 10 ** -v).replace('\u00a0%', ''),
  read: (v) => quantileName(1 - 10 ** -v) + ' are faster than',
  head: 'percentile',
  raw: (v) => Number(((1 - 10 ** -v) * 100).toFixed(4)),
  cell: (v) => quantileName(1 - 10 ** -v),
  splits: (u) => NINES.map(ninesOf).filter((v) => v >= u.scales.x.min - 1e-9 && v <= u.scales.x.max + 1e-9),
};

// What spans decades lies by its logarithm.
function logX(tick, read, head) {
  return {
    tick: (v) => tick(10 ** v),
    read: (v) => 'at ' + read(10 ** v),
    head,
    cell: (v) => read(10 ** v),
    raw: (v) => Number((10 ** v).toPrecision(12)),
    splits: (u) => decades(10 ** u.scales.x.min, 10 ** u.scales.x.max).map(Math.log10),
  };
}

const LOG_TIME_X = logX(tickTime, time, 'time');

function xAxis(x) {
  return baseAxis({
    size: 30,
    gap: 5,
    space: 56,
    values: (u, splits) => splits.map((v) => x.tick(v)),
    splits: x.splits,
    ...(x.label ? { label: x.label, labelSize: 18, labelGap: 0 } : {}),
  });
}

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((m) => m * power >= rough) * power;
}
