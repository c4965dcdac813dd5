// `netfathom message`: how its layers look, and how its figures are written.

const LIBRARY_COLOURS = { adaptive: 'tx', inline: 'call', thread: 'rx', batch: 'lag' };
const PEERS = ['zmq', 'nng', 'sockperf'];

const BARE_COLOURS = ['rate', 'cpu-steal', 'cpu-system', 'cpu-irq'];

// A layer has the same look in every picture: the library has a strong colour a strategy, bare sockets
// are told apart by colour and dashes, what others made is brown.
function messageLooks(layers) {
  const dashes = (place) => QUIET_LOOKS[place % QUIET_LOOKS.length];
  let bare = 0;
  return new Map(layers.map((layer) => {
    if (LIBRARY_COLOURS[layer]) return [layer, { colour: LIBRARY_COLOURS[layer], look: 'strong' }];
    if (PEERS.includes(layer)) return [layer, { colour: 'planned', look: dashes(PEERS.indexOf(layer)) }];
    const place = bare++;
    const again = Math.floor(place / QUIET_LOOKS.length);
    return [layer, { colour: BARE_COLOURS[(place + again) % BARE_COLOURS.length], look: dashes(place) }];
  }));
}

// Microseconds, unless it is below one or from ten milliseconds on.
function messageTime(ns) {
  if (!isNumber(ns) || Math.abs(ns) < 1e7) return time(ns);
  return trueMinus(grouped(ns / 1e6, digitsFor(ns / 1e6))) + '\u00a0ms';
}

function messageTick(ns) {
  return Math.abs(ns) >= 1e6 ? trueMinus(trimZeros(ns / 1e6)) + '\u00a0ms' : tickTime(ns);
}

// Megabytes, unless it stalls.
function bytesUnit(bytesPerS) {
  return bytesPerS >= 1e5 ? [1e6, '\u00a0MB/s', ''] : [1e3, '\u00a0kB/s', ''];
}

function tickBytes(bytesPerS) {
  const [size, name] = bytesPerS >= 1e6 ? [1e6, 'MB'] : bytesPerS >= 1e3 ? [1e3, 'kB'] : [1, 'B'];
  return trimZeros(bytesPerS / size) + '\u00a0' + name;
}

const MESSAGE_TIME = { tick: messageTick, read: messageTime, log: true, gap: 6, unit: timeUnit };

// What a benchmark is read by: on axes, in readings, and with half its interval.
function messageQuantity(facts) {
  const label = 'logarithmic';
  if (facts.quantity === 'time') return { ...MESSAGE_TIME, label };
  if (facts.quantity === 'bytes') {
    return { label, tick: tickBytes, read: (v) => messageFigure({ value: v }, bytesUnit), log: true, gap: 6, unit: bytesUnit };
  }
  return { label, tick: shortRate, read: (v) => roughRate(v), log: true, gap: 6, unit: rateUnit };
}

// The size of a unit, its name behind the value, and what of it stands behind half the interval.
function timeUnit(ns) {
  if (Math.abs(ns) >= 1e7) return [1e6, '\u00a0ms', ''];
  return Math.abs(ns) >= 999.5 ? [1e3, '\u00a0µs', ''] : [1, '\u00a0ns', ''];
}

function rateUnit(perS) {
  if (perS >= 999500) return [1e6, 'M/s', 'M'];
  return perS >= 999.5 ? [1e3, 'k/s', 'k'] : [1, '/s', ''];
}

// Half of an interval that reaches zero: its figures would say no more, and be wide.
const TOO_WIDE = '±\u00a0>100\u00a0%';

function tooWide(figure) {
  return isNumber(figure.half) && figure.half > 0 && figure.half >= Math.abs(figure.value);
}

function messageFigure(figure, unit) {
  if (!figure) return NOT_KNOWN;
  const [size, name, again] = unit(figure.value);
  const digits = digitsFor(figure.value / size);
  const value = trueMinus(grouped(figure.value / size, digits)) + name;
  if (tooWide(figure)) return value + '\u00a0' + TOO_WIDE;
  return isNumber(figure.half) ? value + '\u00a0' + halfOf(figure.half / size, digits) + again : value;
}

function timesText(figure) {
  if (!figure) return NOT_KNOWN;
  const size = Math.abs(figure.value);
  if (size < 0.0005 || !isNumber(figure.half)) return eachText(figure.value);
  const digits = size < 0.0995 ? 3 : digitsFor(figure.value);
  return trueMinus(grouped(figure.value, digits)) + '\u00a0' + (tooWide(figure) ? TOO_WIDE : halfOf(figure.half, digits));
}

// So much of something a message took.
function eachText(value) {
  if (!isNumber(value)) return NOT_KNOWN;
  if (value === 0) return '0';
  if (Math.abs(value) < 0.0005) return '<0.001';
  return trueMinus(grouped(value, Math.abs(value) < 0.0995 ? 3 : digitsFor(value)));
}

// 1024 bytes are a KiB, and what is not whole is not rounded to one.
function sizeText(bytes) {
  if (bytes >= 1048576 && bytes % 1048576 === 0) return count(bytes / 1048576) + '\u00a0MiB';
  return bytes >= 1024 && bytes % 1024 === 0 ? count(bytes / 1024) + '\u00a0KiB' : count(bytes) + '\u00a0B';
}

// Cells with what follows from them, by placement and pair, in the order of the plan.
function messageGroups({ result, facts }) {
  const cells = result.cells.map((c, i) => ({ ...c, fact: facts.cells[i] }));
  const place = (c) => facts.layers.indexOf(c.fact.layer);
  return facts.placements.map(([name, words]) => {
    const here = cells.filter((c) => c.placement === name);
    const pairsHere = [...new Set(here.map((c) => c.pair))].sort((a, b) => a - b);
    return { name, words, pairs: pairsHere.map((pair) => {
      // Trials were shuffled, and cells came with the first of theirs.
      const of = here.filter((c) => c.pair === pair).sort((a, b) => a.bytes - b.bytes || place(a) - place(b));
      return { pair, id: name + '-' + pair, name: of[0].fact.pair, cells: of };
    }) };
  }).filter((p) => p.pairs.length);
}

function messageSizes(cells) {
  return [...new Set(cells.map((c) => c.bytes))].sort((a, b) => a - b);
}

// The layers of some cells, in the order of the plan.
function layersOf(facts, cells) {
  return facts.layers.filter((layer) => cells.some((c) => c.fact.layer === layer));
}

// One placement, one pair and one size at a time; the smallest first.
function eachSpot(context, build) {
  return choice('placement', messageGroups(context).map((p) => ({ name: p.name + ': ' + p.words, build: () =>
    choice('processors', p.pairs.map((g) => ({ name: g.name, build: () =>
      choice('size', messageSizes(g.cells).map((bytes) => ({ name: sizeText(bytes), build: () =>
        build(g.cells.filter((c) => c.bytes === bytes), g.id + '-' + bytes, p.name + ', ' + g.name + ', ' + sizeText(bytes)) }))) }))) })));
}
