// The raw samples of a run: every message that was kept, over the time of its trial.

const MOST_SAMPLE_TRIALS = 20;

// Nothing where the page carries none. They are unpacked when the rest stands.
function blockSamples({ value }) {
  const samples = scope ? null : dataIn('samples');
  if (!samples) return null;
  if (samples.unreadable) return note('samples.parquet is there, but could not be read: ' + samples.unreadable + '.');
  if (!samples.packed) return note('samples.parquet holds no message.');
  const place = el('div', { class: 'samples' }, note('Unpacking the single messages…'));
  unpackSamples(samples).then((set) => {
    place.replaceChildren();
    append(place, samplePictures(samples, set, value));
    drawAll();
    window.netfathom.samplesDrawnMs = performance.now();
    document.documentElement.dataset.samples = 'drawn';
  }).catch((error) => {
    place.replaceChildren(note('The single messages could not be unpacked: ' + error.message + '.'));
  });
  return place;
}

function samplePictures(samples, set, value) {
  const ways = ['tx', 'rx'].filter((way) => set.ways[way]);
  if (!ways.length) return [note('No message that was kept has a ' + value + '.')];
  const pictures = (trials, place) => ways.map((way) => sampleChart(set, way, trials, place, value));
  const shown = set.trials.slice(0, MOST_SAMPLE_TRIALS);
  const options = [{ name: 'all trials', build: () => pictures(set.trials, 'all') },
    ...shown.map((t) => ({ name: 'trial ' + (t.trial + 1), build: () => pictures([t], String(t.trial)) }))];
  return [subtitle('Single messages'), choice('Trials', set.trials.length > 1 ? options : options.slice(0, 1)),
    note(samplesNote(samples, set, ways, value)),
    set.trials.length > MOST_SAMPLE_TRIALS && note('Trials after the first ' + MOST_SAMPLE_TRIALS + ' are drawn together with the others only.')];
}

function sampleChart(set, way, trials, place, value) {
  const whole = [smallest(trials.map((t) => set.seconds[t.from])), largest(trials.map((t) => set.seconds[t.to - 1]))];
  if (whole[0] === whole[1]) whole[1] += 1e-6;
  const view = (from, to) => viewOfSamples(set, way, trials, from, to);
  return chart({
    id: 'samples-' + way + '-' + place, title: 'Single messages, ' + value + ' ' + way, quantity: LOG_TIMES, x: TIME_X, xs: [],
    whole, view, height: 260, sync: 'samples-' + place, between: [2, 0], about: 'The ' + value + ' of every message that was kept, over its trial.',
    tabled: ([from, to]) => sampleTable(view(from, to), way, value), csv: () => samplesCsv(set, trials, value),
    series: [
      { label: 'lowest', group: 'lowest to highest', colour: way, look: 'faint' },
      { label: 'mean', colour: 'ink', look: 'thin' },
      { label: 'highest', group: 'lowest to highest', colour: way, look: 'faint' },
      { label: 'message', group: 'single messages', colour: way, look: 'points' },
    ],
  });
}

function sampleTable(shown, way, value) {
  const caption = 'Single messages in view, ' + way;
  if (!shown.rows) {
    return table(caption, [{ head: 'time', cell: (r) => seconds(r[0]) }, { head: value, cell: (r) => time(r[1]) }], shown.each);
  }
  return table(caption, [
    { head: 'time', cell: (r) => seconds(r.x) },
    { head: 'messages', cell: (r) => count(r.n) },
    { head: 'lowest', cell: (r) => time(r.low) },
    { head: 'mean', cell: (r) => time(r.mean) },
    { head: 'highest', cell: (r) => time(r.high) },
  ], shown.rows);
}

function samplesNote(samples, set, ways, value) {
  const { packed, rows, every, unplaced } = samples;
  const notes = [count(set.seconds.length) + ' of the ' + count(rows) + ' messages in samples.parquet are in this file'
    + (every > 1 ? ', every ' + count(every) + 'th of them' : '') + '.'];
  const ticks = largest(packed.trials.map((t) => t.tick_ns));
  notes.push(isNumber(packed.error)
    ? 'To fit, times are rounded by at most ' + percent(packed.error) + ' and moments to ' + time(ticks) + '; samples.parquet has them exactly.'
    : 'Their times are exact.');
  for (const way of ways) {
    const { codes, times_ns: times } = set.ways[way];
    const least = times.findIndex((ns) => ns > 0);
    const below = codes.reduce((sum, code) => sum + (code > 0 && (least < 0 || code - 1 < least) ? 1 : 0), 0);
    const unknown = codes.reduce((sum, code) => sum + (code === 0 ? 1 : 0), 0);
    if (unknown) notes.push(count(unknown) + ' have no ' + value + ' ' + way + ': lost, or not seen by a hook.');
    if (below) notes.push(count(below) + ' took zero or less ' + way + ', which has no place on a logarithmic axis; the CSV has them.');
  }
  if (unplaced) notes.push(count(unplaced) + ' have no moment and are left out.');
  return notes.join(' ');
}

function samplesCsv(set, trials, value) {
  const ways = Object.keys(set.ways);
  const lines = [csvLine(['trial', 'time (s)', ...ways.map((way) => value + ' ' + way + ' (ns)')])];
  const timeOf = (way, i) => {
    const { codes, times_ns: times } = set.ways[way];
    return codes[i] > 0 ? times[codes[i] - 1] : null;
  };
  for (const t of trials) {
    for (let i = t.from; i < t.to; i += 1) lines.push(csvLine([t.trial + 1, set.seconds[i], ...ways.map((way) => timeOf(way, i))]));
  }
  return lines;
}
