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

// Units of a scale, the smallest first: how much it is, its multiple, and its name. The same as crates/model/src/print.rs,
// and so is every rule below: a test holds one against the other.
const decimal = (names) => names.map(([multiple, name], i) => [1000 ** i, multiple, name]);
const TIME = decimal([['', '\u00a0ns'], ['', '\u00a0µs'], ['', '\u00a0ms'], ['', '\u00a0s']]);
const RATE = decimal([['', '/s'], ['k', '/s'], ['M', '/s'], ['G', '/s']]);
const MULTIPLE = decimal([['', ''], ['k', ''], ['M', ''], ['G', '']]);
const BIT_RATE = decimal(['', 'k', 'M', 'G', 'T'].map((m) => ['', '\u00a0' + m + 'b/s']));
const BYTE_RATE = decimal(['', 'k', 'M', 'G'].map((m) => ['', '\u00a0' + m + 'B/s']));
const SHARE = [[0.01, '', '\u00a0%'], [1, '', '\u00a0times']];

// The first unit in which the value stays below the next one, rounded to three digits.
function unitOf(scale, value) {
  const largest = scale[scale.length - 1];
  // A power of ten needs no multiple behind it.
  const isPower = largest[1] !== '' && Math.abs(value) / largest[0] >= 1e15;
  return scale.find(([size]) => Math.abs(value) / size < 999.5) || (isPower ? scale[0] : largest);
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
  return inUnit(value / size, size === 1 && scale !== SHARE) + multiple + name;
}

function inUnit(number, counts) {
  if (number === 0) return '0';
  if (Math.abs(number) < 0.0005) return number < 0 ? '>\u22120.001' : '<0.001';
  return grouped(number, counts && Number.isInteger(number) ? 0 : digitsFor(number));
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

function rate(perS) {
  return inUnits(RATE, perS);
}

function count(value) {
  if (!isNumber(value)) return NOT_KNOWN;
  return trueMinus(value.toLocaleString('en-US', { maximumFractionDigits: 0 }));
}

function percent(share) {
  return inUnits(SHARE, share);
}

// 0.999 is written 99.9 %, with as many digits as it has.
function quantileName(q) {
  return String(Number((q * 100).toFixed(4))) + '\u00a0%';
}
