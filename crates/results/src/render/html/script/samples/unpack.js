// The single messages as the page carries them: columns of small numbers. See pack.rs for the form.

// {trials: [{trial, from, to}], seconds, ways: {tx: {codes, times_ns}}}; a code of 0 is a time that is not known.
async function unpackSamples({ packed }) {
  const bytes = await unpacked('samples-packed');
  if (bytes.length !== packed.bytes) throw new Error('they are cut off');
  const reader = { bytes, at: 0 };
  const n = packed.trials.reduce((sum, t) => sum + t.n, 0);
  const seconds = new Float64Array(n);
  let from = 0;
  const trials = packed.trials.map((t) => {
    readMoments(reader, t, seconds, from);
    from += t.n;
    return { trial: t.trial, from: from - t.n, to: from };
  });
  const ways = {};
  for (const way of packed.directions) ways[way.direction] = readTimes(reader, way, n);
  return { trials, seconds, ways };
}

// Seven bits a byte, the lowest first. Beyond 31 bits only arithmetic holds.
function readNumber(reader) {
  let [value, scale, byte] = [0, 1, 0];
  do {
    byte = reader.bytes[reader.at];
    reader.at += 1;
    value += (byte & 0x7f) * scale;
    scale *= 128;
  } while (byte & 0x80);
  return value;
}

function readMoments(reader, { n, tick_ns: tickNs, first }, seconds, from) {
  let step = first;
  for (let i = 0; i < n; i += 1) {
    if (i > 0) step += readNumber(reader);
    seconds[from + i] = step * tickNs / 1e9;
  }
}

function readTimes(reader, { first_ns: firstNs, distinct }, n) {
  const times = new Float64Array(distinct);
  let ns = firstNs;
  for (let i = 0; i < distinct; i += 1) {
    if (i > 0) ns += readNumber(reader);
    times[i] = ns;
  }
  const codes = new Uint16Array(n);
  for (let i = 0; i < n; i += 1) codes[i] = reader.bytes[reader.at + i] | (reader.bytes[reader.at + n + i] << 8);
  reader.at += 2 * n;
  return { codes, times_ns: times };
}
