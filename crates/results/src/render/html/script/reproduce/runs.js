// The measurements that an experiment is made of: a line each, and opened, each as its own
// report would draw it.

function runList({ result, facts }) {
  if (!result.runs.length) return [note('No run is finished.')];
  return [el('div', { class: 'runs' }, result.runs.map((run, i) => runPart(run, facts.runs[i], i))),
    note('The record holds each of them whole.')];
}

function runPart(run, facts, number) {
  const level = facts.level;
  const mark = level && el('span', { class: 'mark ' + level.toLowerCase() }, level);
  const box = lazyDetails(['netfathom ' + run.measurement.kind + ', drawn whole'],
    () => inScope('run-' + number + '-', () => wholeRun(run.measurement, facts.facts)));
  return el('article', { class: 'run', id: 'run-' + number }, el('h3', {}, run.name, ' ', mark),
    el('p', {}, facts.sentence), el('ul', { class: 'circumstances' }, facts.circumstances.map((c) => el('li', {}, c))),
    facts.trust && el('p', { class: 'trust' }, facts.trust + '.'),
    reasonList(facts.reasons, level), box);
}

// Trials have much the same reasons, with other numbers in them.
const FEW_REASONS = 3;

function reasonList(reasons, level) {
  const list = (some) => el('ul', { class: 'reasons ' + (level || 'valid').toLowerCase() }, some.map((r) => el('li', {}, r)));
  if (!reasons.length) return null;
  if (reasons.length <= FEW_REASONS) return list(reasons);
  return [list(reasons.slice(0, FEW_REASONS)),
    lazyDetails(counted(reasons.length - FEW_REASONS, 'more reason'), () => list(reasons.slice(FEW_REASONS)))];
}

function wholeRun(measurement, facts) {
  const parts = partsOf(measurement, facts);
  if (!parts.length || measurement.kind === 'reproduce') return note('An experiment within an experiment is not drawn; the record holds it.');
  const context = { facts, result: measurement };
  const more = (measurement.left_out || []).length > 0 ? [['left-out', 'Left out', leftOut]] : [];
  return el('div', { class: 'whole' }, partsFor(context, [...parts, ...more]).map((part) => section(context, part, 'h4')),
    facts && facts.plan && el('section', {}, el('h4', {}, 'Plan'), pairs(facts.plan)));
}
