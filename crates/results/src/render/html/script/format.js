// Numbers as readers want them: three digits that count, in the unit that keeps them between 1 and 1000.

const NOT_KNOWN = 'n/a';

function isNumber(value) {
  return typeof value === 'number' && Number.isFinite(value);
}

// For any number of values: Math.max takes a limited number of arguments.
function largest(values, least = -Infinity) {
  return values.reduce((top, v) => (v > top ? v : top), least);
}

function smallest(values, top = Infinity) {
  return values.reduce((low, v) => (v < low ? v : low), top);
}

function trueMinus(text) {
  return text.replace('-', '\u2212');
}

// Units of a scale, the smallest first: how much it is, what stands behind half an interval too, and its name. The same
// as crates/model/src/print.rs, and so is every rule below: a test holds one against the other.
const decimal = (names) => names.map(([multiple, name], i) => [1000 ** i, multiple, name]);
const TIME = decimal([['', '\u00a0ns'], ['', '\u00a0µs'], ['', '\u00a0ms'], ['', '\u00a0s']]);
const RATE = decimal([['', '/s'], ['k', '/s'], ['M', '/s'], ['G', '/s']]);
const MULTIPLE = decimal([['', ''], ['k', ''], ['M', ''], ['G', '']]);
const COUNT = [[1, '', ''], [1e6, 'M', ''], [1e9, 'G', '']];
const BIT_RATE = decimal(['', 'k', 'M', 'G', 'T'].map((m) => ['', '\u00a0' + m + 'b/s']));
const BYTE_RATE = decimal(['', 'k', 'M', 'G'].map((m) => ['', '\u00a0' + m + 'B/s']));
const BYTES = ['B', 'KiB', 'MiB', 'GiB'].map((name, i) => [1024 ** i, '', '\u00a0' + name]);
const SHARE = [[0.01, '', '\u00a0%'], [1, '', '\u00a0times']];
const RATIO = [[1, '', '']];

// The first unit in which the value stays below the next one, rounded to three digits.
function unitOf(scale, value) {
  const full = (size) => (scale === BYTES ? 1023.5 : scale === COUNT && size === 1 ? 999999.5 : 999.5);
  return scale.find(([size]) => Math.abs(value) / size < full(size)) || scale[scale.length - 1];
}

// Decimals that show three digits, and no more than three of them.
function digitsFor(value) {
  const size = Math.abs(value);
  return size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
}

// Halves are rounded away from zero, and nothing is not negative.
function grouped(value, digits) {
  const size = Math.abs(value);
  if (size >= 1e15) return trueMinus(value.toExponential(1).replace('e+', 'e'));
  const rounded = Math.round(size * 10 ** digits) / 10 ** digits;
  const text = rounded.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (value < 0 && rounded !== 0 ? '\u2212' : '') + text;
}

// The value in its unit. Whole numbers of what is counted have no decimals.
function inUnits(scale, value) {
  if (!isNumber(value)) return NOT_KNOWN;
  const [size, multiple, name] = unitOf(scale, value);
  return inUnit(value / size, size === 1 && scale !== SHARE && scale !== RATIO) + multiple + name;
}

function inUnit(number, counts) {
  if (number === 0) return '0';
  if (Math.abs(number) < 0.0005) return number < 0 ? '>\u22120.001' : '<0.001';
  return grouped(number, counts && Number.isInteger(number) ? 0 : digitsFor(number));
}

// Of half an interval no more than two digits, and no so few that it reads as nothing.
function digitsOfHalf(digits, half) {
  if (half < 0.0005) return digits;
  if (half >= 0.995) return half >= 9.95 ? 0 : Math.min(digits, 1);
  if (half >= 0.0995) return Math.min(Math.max(digits, 1), 2);
  return half >= 0.00995 ? Math.min(Math.max(digits, 2), 3) : 3;
}

// With half its interval, in the decimals that show the larger of them.
function withHalf(scale, value, half) {
  if (!isNumber(value) || half === null || half === undefined) return inUnits(scale, value);
  if (!isNumber(half)) return inUnits(scale, value) + '\u00a0±\u00a0?';
  const larger = Math.max(Math.abs(value), half);
  const [size, multiple, name] = unitOf(scale, larger);
  const part = half / size;
  const digits = digitsOfHalf(larger === 0 ? 0 : digitsFor(larger / size), part);
  const beside = part > 0 && part < 0.0005 ? inUnits(scale, half) : grouped(part, digits) + multiple;
  return grouped(value / size, digits) + multiple + name + '\u00a0±\u00a0' + beside;
}

// A round value, as it stands beside a tick.
function inTicks(scale) {
  return (value) => {
    const [size, multiple, name] = unitOf(scale, value);
    return trueMinus(trimZeros(value / size)) + multiple + name;
  };
}

const tickTime = inTicks(TIME);
const shortRate = inTicks(MULTIPLE);

function trimZeros(value) {
  return String(Number(value.toPrecision(4)));
}

function time(ns) {
  return inUnits(TIME, ns);
}

function seconds(s) {
  return isNumber(s) ? time(s * 1e9) : NOT_KNOWN;
}

function rate(perS, half) {
  return withHalf(RATE, perS, half);
}

function bytes(value) {
  return inUnits(BYTES, value);
}

function count(value) {
  if (!isNumber(value)) return NOT_KNOWN;
  return trueMinus(value.toLocaleString('en-US', { maximumFractionDigits: 0 }));
}

function percent(share) {
  return inUnits(SHARE, share);
}

// Rounded down near the whole: what is not all must not read as 100 %.
function percentDown(share) {
  if (!isNumber(share) || share <= 0.9945 || share >= 1) return percent(share);
  return grouped(Math.floor(share * 1e4) / 100, 2) + '\u00a0%';
}

// One thing, two things.
function counted(n, what) {
  const plural = what.endsWith('ch') ? what + 'es' : what + 's';
  return count(n) + '\u00a0' + (n === 1 ? what : plural);
}

// 0.999 is written 99.9 %, with as many digits as it has.
function quantileName(q) {
  return String(Number((q * 100).toFixed(4))) + '\u00a0%';
}

// A name that serde wrote in snake_case, as words.
function words(name) {
  return String(name).replaceAll('_', ' ');
}
