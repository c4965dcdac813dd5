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

const MESSAGE_TIME = { tick: tickTime, read: time, log: true, gap: 6, scale: TIME };

// What a benchmark is read by: on axes, in readings, and with half its interval.
function messageQuantity(facts) {
  const label = 'logarithmic';
  if (facts.quantity === 'time') return { ...MESSAGE_TIME, label };
  if (facts.quantity === 'bytes') {
    return { label, tick: inTicks(BYTE_RATE), read: (v) => inUnits(BYTE_RATE, v), log: true, gap: 6, scale: BYTE_RATE };
  }
  return { label, tick: shortRate, read: (v) => rate(v), log: true, gap: 6, scale: RATE };
}

// Half of an interval that reaches zero: its figures would say no more, and be wide.
const TOO_WIDE = '±\u00a0>100\u00a0%';

function tooWide(figure) {
  return isNumber(figure.half) && figure.half > 0 && figure.half >= Math.abs(figure.value);
}

function messageFigure(figure, scale) {
  if (!figure) return NOT_KNOWN;
  return tooWide(figure) ? inUnits(scale, figure.value) + '\u00a0' + TOO_WIDE : withHalf(scale, figure.value, figure.half);
}

// So much of something a message took.
function eachText(value) {
  return inUnits(RATIO, value);
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
