// A transfer over time: its rate, and beneath it what lay where.

// Looks beyond these would lie within one pixel of each other.
const MOST_LOOKS = 512;
// Streams beyond these are not told apart in a picture.
const MOST_STREAMS_DRAWN = 8;

const STREAM_COLOURS = ['rx', 'call', 'lag', 'planned', 'stage-wakeup', 'stage-sockqueue', 'rate', 'muted'];

const BITS = { label: 'bits a second', tick: shortRate, read: (v) => inUnits(BIT_RATE, v), zero: true };

const IN_BYTES = { label: 'bytes', tick: shortRate, read: (v) => count(v) + '\u00a0bytes', zero: true };

function transferOverTime({ result }) {
  const watched = result.streams.filter((s) => s.samples.length > 1);
  if (!watched.length) return [note('It was over before it could be looked at twice.')];
  const grid = looks(watched);
  const again = sentAgain(watched);
  const many = watched.length > 1;
  return [rateOverTime(watched, grid, again),
    choice('Stream', watched.slice(0, MOST_STREAMS_DRAWN).map((s, i) => ({
      name: 'stream ' + (result.streams.indexOf(s) + 1), build: () => whereItLay(s, i, result.plan.role) }))),
    note(many && watched.length > MOST_STREAMS_DRAWN && 'The first ' + MOST_STREAMS_DRAWN + ' of ' + watched.length + ' streams are drawn; the sum is that of all. ',
      again.length > 0 && 'Triangles: segments were sent again, ' + count(again.reduce((n, a) => n + a.count, 0)) + ' in all. ',
      'Taken by looks at the connection while it ran; between two looks the rate is their difference.')];
}

// The times at which all streams are looked at. A stream has its own, so what it had in
// between is taken to have grown evenly.
function looks(streams) {
  const all = [...new Set(streams.flatMap((s) => s.samples.map((l) => l.at_ns)))].sort((a, b) => a - b);
  if (all.length <= MOST_LOOKS) return all;
  const [first, last] = [all[0], all[all.length - 1]];
  return Array.from({ length: MOST_LOOKS }, (_, i) => first + (last - first) * i / (MOST_LOOKS - 1));
}

// Bytes of a stream at each of these times, which rise.
function bytesAt(samples, grid) {
  let k = 0;
  return grid.map((at) => {
    while (k + 1 < samples.length && samples[k + 1].at_ns <= at) k += 1;
    const [a, b] = [samples[k], samples[k + 1]];
    if (at <= samples[0].at_ns) return at < samples[0].at_ns ? 0 : a.bytes;
    if (!b || b.at_ns <= a.at_ns) return a.bytes;
    return a.bytes + (b.bytes - a.bytes) * (at - a.at_ns) / (b.at_ns - a.at_ns);
  });
}

// Bytes a second from each time to the next; the last stands for itself as well.
function growth(bytes, grid) {
  const rates = grid.slice(1).map((at, i) => (at > grid[i] ? Math.max(0, bytes[i + 1] - bytes[i]) / (at - grid[i]) * 1e9 : null));
  return [...rates, rates[rates.length - 1]];
}

// Charts hold bits, so that their ticks are round.
function inBits(bytesPerS) {
  return isNumber(bytesPerS) ? bytesPerS * 8 : null;
}

function rateOverTime(streams, grid, again) {
  const each = streams.map((s) => growth(bytesAt(s.samples, grid), grid));
  const sum = grid.map((_, i) => each.reduce((total, rates) => total + (rates[i] || 0), 0));
  const lines = streams.length < 2 ? [] : streams.slice(0, MOST_STREAMS_DRAWN).map((s, i) => ({ label: 'stream ' + (i + 1),
    colour: STREAM_COLOURS[i % STREAM_COLOURS.length], look: 'steps', values: each[i].map(inBits) }));
  return chart({
    id: 'transfer-rate', title: 'Rate', quantity: BITS, x: TIME_X, xs: grid.map((ns) => ns / 1e9), height: 240,
    about: 'Bits a second between two looks.', sync: 'transfer',
    series: [{ label: streams.length < 2 ? 'rate' : 'all streams', colour: 'tx', look: 'steps', values: sum.map(inBits) }, ...lines],
    over: (u) => markAgain(u, again),
  });
}

// When segments were sent again, and how many.
function sentAgain(streams) {
  return streams.flatMap((s) => s.samples.slice(1)
    .map((l, i) => ({ at: l.at_ns / 1e9, count: l.retransmits - s.samples[i].retransmits })).filter((a) => a.count > 0));
}

function markAgain(u, again) {
  const size = 5 * devicePixelRatio;
  within(u, () => {
    u.ctx.fillStyle = colour('void');
    for (const { at } of again) {
      const x = u.valToPos(at, 'x', true);
      const foot = u.bbox.top + u.bbox.height;
      u.ctx.beginPath();
      u.ctx.moveTo(x - size, foot);
      u.ctx.lineTo(x + size, foot);
      u.ctx.lineTo(x, foot - 1.8 * size);
      u.ctx.fill();
    }
  });
}

// In flight, waiting, and what the peer would take.
function whereItLay(stream, number, role) {
  const { samples } = stream;
  const segment = stream.tcp ? stream.tcp.mss_bytes : null;
  const line = (label, paint, look, read) => ({ label, colour: paint, look, values: samples.map(read) });
  const sends = [
    ...(segment ? [line('in flight', 'tx', 'strong', (l) => l.in_flight * segment),
      line('congestion window', 'lag', 'thin', (l) => l.cwnd * segment)] : []),
    line('waits unsent', 'rx', 'strong', (l) => l.unsent_bytes),
    line('the peer’s window', 'call', 'dashed', (l) => l.peer_window_bytes),
  ];
  return chart({
    id: 'transfer-lay-' + number, title: role === 'transmit' ? 'In flight, and what it may be' : 'Waits to be read', quantity: IN_BYTES,
    x: TIME_X, xs: samples.map((l) => l.at_ns / 1e9), height: 200, sync: 'transfer',
    about: 'Bytes at each look.',
    series: role === 'transmit' ? sends : [line('waits to be read', 'rx', 'strong', (l) => l.queued_bytes)],
  });
}
