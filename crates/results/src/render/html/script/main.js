// The order a reader needs: id, title, what builds it, and where it is not for all, for whom.

const CLOSING = [
  ['findings', 'Findings', findings],
  ['left-out', 'Left out', leftOut, ({ result }) => Boolean(result.left_out)],
  ['environment', 'Environment and plan', environment],
  ['record-section', 'Raw data', rawData],
];

// Asked for by --self: what its own calls add is then the answer, and what watching them takes is not.
const ownCalls = ({ facts }) => facts.benchmarks.some((b) => b.calls.length);

const SECTIONS = {
  stack: [
    ['glance', 'At a glance', glance],
    ['stages', 'Where the time goes', waterfalls],
    ['run', 'Rate and stack time over the run', overTheRun],
    ['layers', 'Stages over the run', stagesOverTheRun],
    ['percentiles-section', 'Percentiles', percentiles],
    ['samples-section', 'Single messages', samplesSection, ({ samples }) => Boolean(samples)],
    ['tables', 'The papers’ tables', papersTables],
    ['stage-table', 'Stage by stage', stageTables],
    ['accounting', 'Accounting', accounting],
    ['taps', 'The taps beside each other', tapsBeside, tapsCompared],
    ['self-cost', 'Self-cost of the tap', selfCost],
    ['witness', 'Witness', witness],
    ['lag-section', 'Lag', lagSection],
  ],
  load: [
    ['glance', 'At a glance', loadGlance],
    ['engine', 'The engine', ladder],
    ['run', 'Rate and lag over the run', loadOverTheRun],
    ['echo-section', 'What answers took', echoSection],
    ['intervals-section', 'Intervals', intervalsSection],
    ['tables', 'Trials and workers', loadTrials],
    ['accounting', 'Accounting', accounting],
    ['lag-section', 'Lag', loadLag],
  ],
  reproduce: [
    ['claims', 'What the source says', claimList],
    ['tables', 'Its tables, and ours beside them', besideTables],
    ['figures', 'Its figures', figureSections],
    ['differences', 'What differs from the original', differencesSection],
    ['runs', 'Runs', runList],
  ],
  message: [
    ['remedies', 'Stalls, and what ends them', messageRemedies, ({ result }) => result.remedies.length],
    ['picture', 'By size and layer', messagePicture],
    ['placements', 'The placements beside each other', messagePlacements,
      ({ result }) => result.plan.placements.length > 1 || result.absent.length],
    ['times', 'Distribution of the times', messageTimes],
    ['tables', 'The numbers', messageNumbers],
    ['trials', 'Trials', messageTrials],
  ],
  cost: [
    ['calls', 'Its own system calls', costCalls, ownCalls],
    ['spans', 'From mark to mark', costSpans, ownCalls],
    ['picture', 'How much longer it takes', costPicture],
    ['sequences', 'When each mark was reached', costSequences],
    ['spans', 'From mark to mark', costSpans, (context) => !ownCalls(context)],
    ['taken', 'What was taken, by resource', costTaken, ({ facts }) => facts.benchmarks.some((b) => b.comparisons.some((c) => c.taken.length))],
    ['program', 'What it uses itself, and what it takes', costProgram, ({ facts }) => facts.program.length || facts.program_notes.length],
    ['tables', 'The numbers', costNumbers],
    ['trials', 'Trials', costTrials],
  ],
};

// A part that cannot be drawn says so and leaves the others alone.
function section(context, [name, title, build], heading) {
  const id = scope + name;
  const node = el('section', { id, 'aria-labelledby': id + '-title' }, el(heading || 'h2', { id: id + '-title' }, title));
  try {
    append(node, build(context));
  } catch (error) {
    append(node, [note('This part could not be drawn: ' + error.message)]);
    console.error(error);
  }
  return node;
}

// A story has its sections; what has none yet is drawn by the functions named above.
function partsOf(measurement, facts) {
  return facts && facts.page ? storySections(facts.page) : SECTIONS[measurement.kind] || [];
}

function partsFor(context, parts) {
  return parts.filter(([, , , wanted]) => !wanted || wanted(context));
}

function dataIn(id) {
  const node = document.getElementById(id);
  return node && JSON.parse(node.textContent);
}

// Where there are raw samples, the record is squeezed to make room for them.
async function start() {
  const node = document.getElementById('record');
  const recordText = node.type === 'application/json' ? node.textContent : new TextDecoder().decode(await unpacked('record'));
  const record = JSON.parse(recordText);
  const [facts, samples] = [dataIn('facts'), dataIn('samples')];
  recordId = String(record.id);
  const context = { record, facts, samples, recordText, result: record.measurement };
  const report = document.getElementById('report');
  const contents = document.getElementById('contents');
  for (const part of partsFor(context, [...partsOf(record.measurement, facts), ...CLOSING])) {
    report.append(section(context, part));
    contents.append(el('a', { href: '#' + part[0] }, part[1]));
  }
  drawAll();
  // For tests and for the curious: the charts and what they were drawn from.
  window.netfathom = { charts, record, facts, drawnMs: performance.now() };
  document.documentElement.dataset.drawn = 'yes';
}

start().catch((error) => {
  append(document.getElementById('report'), [note('The report could not be drawn: ' + error.message + '.')]);
  console.error(error);
});
