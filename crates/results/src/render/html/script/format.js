// Numbers as readers want them. Times are microseconds unless they are below one.

const NOT_KNOWN = 'n/a';

function isNumber(value) {
  return typeof value === 'number' && Number.isFinite(value);
}

// Of any number of values: Math.max takes only so many at once.
function largest(values, least = -Infinity) {
  return values.reduce((top, v) => (v > top ? v : top), least);
}

function smallest(values, top = Infinity) {
  return values.reduce((low, v) => (v < low ? v : low), top);
}

function grouped(value, digits) {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

// As many digits as three significant ones need, never less than the whole number.
function digitsFor(value) {
  const size = Math.abs(value);
  if (size < 10) return 2;
  return size < 100 ? 1 : 0;
}

function trueMinus(text) {
  return text.replace('-', '\u2212');
}

function time(ns) {
  if (!isNumber(ns)) return NOT_KNOWN;
  if (ns === 0) return '0 ns';
  if (Math.abs(ns) < 1000) {
    const digits = Number.isInteger(ns) || Math.abs(ns) >= 10 ? 0 : 2;
    return trueMinus(grouped(ns, digits)) + '\u00a0ns';
  }
  const us = ns / 1000;
  return trueMinus(grouped(us, digitsFor(us))) + '\u00a0µs';
}

// A round time, as it stands beside a tick.
function tickTime(ns) {
  const micro = Math.abs(ns) >= 1000;
  return trueMinus(trimZeros(micro ? ns / 1000 : ns)) + (micro ? '\u00a0µs' : '\u00a0ns');
}

function plusMinus(halfNs) {
  return isNumber(halfNs) ? '±\u00a0' + time(halfNs) : NOT_KNOWN;
}

function count(value) {
  return isNumber(value) ? trueMinus(grouped(value, 0)) : NOT_KNOWN;
}

function percent(share, digits) {
  if (!isNumber(share)) return NOT_KNOWN;
  const value = share * 100;
  const places = digits === undefined ? (Math.abs(value) < 10 ? 1 : 0) : digits;
  return trueMinus(grouped(value, places)) + '\u00a0%';
}

// A small share with as many digits as it needs.
function finePercent(share) {
  if (!isNumber(share)) return NOT_KNOWN;
  const value = Math.abs(share * 100);
  if (value === 0) return '0\u00a0%';
  if (value < 0.0005) return '<0.001\u00a0%';
  return percent(share, value >= 9.995 ? 1 : value >= 0.0995 ? 2 : 3);
}

// Rounded down: what is not all must not read as 100 %.
function percentDown(share) {
  if (!isNumber(share)) return NOT_KNOWN;
  return share >= 1 ? percent(share, 0) : percent(Math.floor(share * 1e4) / 1e4, 2);
}

// A rate in three digits, and beside it half its interval, the unit with both.
function roughRate(perS, half) {
  if (!isNumber(perS)) return NOT_KNOWN;
  const [size, unit] = perS >= 999500 ? [1e6, 'M'] : perS >= 999.5 ? [1e3, 'k'] : [1, ''];
  const digits = unit ? digitsFor(perS / size) : 0;
  if (!isNumber(half)) return grouped(perS / size, digits) + unit + '/s';
  return grouped(perS / size, digits) + unit + '/s\u00a0' + halfOf(half / size, digits) + unit;
}

// An interval that three decimals do not show is as good as none, but not none.
function halfOf(half, digits) {
  if (half > 0 && half < 0.0005) return '±\u00a0<0.001';
  return '±\u00a0' + grouped(half, Math.min(3, Math.max(digits, half > 0 ? Math.ceil(-Math.log10(half)) : 0)));
}

function rate(perS) {
  return isNumber(perS) ? grouped(perS, perS < 100 ? 1 : 0) + '\u00a0/s' : NOT_KNOWN;
}

function shortRate(perS) {
  if (!isNumber(perS)) return NOT_KNOWN;
  if (perS >= 1e6) return trimZeros(perS / 1e6) + 'M';
  return perS >= 1e3 ? trimZeros(perS / 1e3) + 'k' : trimZeros(perS);
}

function seconds(s) {
  if (!isNumber(s)) return NOT_KNOWN;
  return s < 1 ? grouped(s * 1000, s < 0.1 ? 1 : 0) + '\u00a0ms' : grouped(s, 2) + '\u00a0s';
}

function trimZeros(value) {
  return String(Number(value.toPrecision(4)));
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

// A name that serde wrote in snake_case, as it is said.
function words(name) {
  return String(name).replaceAll('_', ' ');
}

function fateName(fate) {
  if (typeof fate === 'string') return words(fate);
  const kind = Object.keys(fate || {})[0];
  return kind === undefined ? NOT_KNOWN : words(kind) + ': ' + fate[kind];
}

const WAYS = {
  tx: { name: 'tx', from: 'application', to: 'link layer', title: 'Out (tx): application to link layer' },
  rx: { name: 'rx', from: 'link layer', to: 'application', title: 'In (rx): link layer to application' },
};
