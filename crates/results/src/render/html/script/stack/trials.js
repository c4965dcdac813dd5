// The papers' tables: a row a trial, the summary, and the stages.

const S_MEANS = 'the papers’ S: it assumes independent messages, which messages in a queue are not';

function papersTables({ result }) {
  const parts = result.summaries.map((s) => [
    subtitle(WAYS[s.direction].title), summaryTable(s), capability(s),
    trialTable(measuredTrials(result), s.direction)]);
  if (!parts.length) return [note('No finished trial with the tap: there are no rows.')];
  return [...parts, note('S* = sqrt(Σ(t − mean)² / (n(n − 1))), as in the papers; it assumes independent messages, which messages in '
    + 'a queue are not. ± between trials is the 95 % interval with Student’s t. Peak: the windows in which the plan '
    + 'wanted at least 90 % of its highest rate.')];
}

function summaryTable(s) {
  const rows = [{ name: 'overall', ...s.overall }];
  if (s.peak) rows.push({ name: 'peak', ...s.peak });
  return table('Summary, ' + s.direction, [
    { head: 'indicator', cell: (r) => r.name },
    { head: 'trials', cell: (r) => count(r.trials) },
    { head: 'mean', cell: (r) => el('b', {}, time(r.mean_ns)) },
    { head: 'min', cell: (r) => time(r.min_ns) },
    { head: 'max', cell: (r) => time(r.max_ns) },
    { head: '± between trials', cell: (r) => (isNumber(r.between_trials_ns) ? time(r.between_trials_ns) : 'one trial') },
  ], rows);
}

// The paper infers a load from a time; what was really reached stands beside it.
function capability(s) {
  if (!isNumber(s.theoretical_per_s) && !isNumber(s.reached_per_s)) return null;
  // On the way in messages overlap: nothing is inferred there.
  if (!isNumber(s.theoretical_per_s)) return el('p', { class: 'capability' }, 'Reached at peak: ', el('b', {}, rate(s.reached_per_s)), '.');
  const beyond = s.reached_per_s > s.theoretical_per_s;
  return el('p', { class: 'capability' }, 'Theoretical load capability (1 / mean time at peak): ',
    el('b', {}, rate(s.theoretical_per_s)), '. Really reached: ', el('b', {}, rate(s.reached_per_s)),
    beyond ? '. More was reached than inferred: messages overlap, so the time of one is not the time between two.' : '.');
}

function trialTable(trials, direction) {
  const rows = trials.filter((t) => pathOf(t, direction)).map((t) => ({ t, p: pathOf(t, direction) }));
  const peak = (r, value) => (r.p.peak ? value(r.p.peak) : '');
  return table('Trials, ' + direction, [
    { head: 'trial', cell: (r) => r.t.index + 1 },
    { head: 'messages', cell: (r) => count(r.p.total.n) },
    { head: 'mean', cell: (r) => el('b', {}, time(r.p.total.mean_ns)) },
    { head: 'min', cell: (r) => time(r.p.total.min_ns) },
    { head: 'max', cell: (r) => time(r.p.total.max_ns) },
    { head: 'S*', title: S_MEANS, cell: (r) => time(r.p.total.mean_error_ns) },
    { head: 'below zero', cell: (r) => count(r.p.total.negative) },
    { head: 'peak mean', cell: (r) => peak(r, (p) => el('b', {}, time(p.mean_ns))) },
    { head: 'min', cell: (r) => peak(r, (p) => time(p.min_ns)) },
    { head: 'max', cell: (r) => peak(r, (p) => time(p.max_ns)) },
    { head: 'S*', title: S_MEANS, cell: (r) => peak(r, (p) => time(p.mean_error_ns)) },
    { head: 'reached', cell: (r) => peak(r, (p) => rate(p.reached_per_s)) },
    { head: 'verdict', text: true, cell: (r) => verdictMark(r.t.verdict) },
  ], rows);
}

function stageTables({ result }) {
  if (!result.summaries.length) return [note('No finished trial with the tap: no stage has a time.')];
  return result.summaries.flatMap((s) => [subtitle(WAYS[s.direction].title), stageTable(s)]);
}

function stageTable(s) {
  const rows = s.stages.map((stage) => ({ stage, d: stage.times.measured,
    rowClass: stage.inside ? null : 'outside' }));
  rows.push({ total: true, d: s.total, rowClass: 'sum' });
  const value = (read) => (r) => (r.d ? read(r.d) : '');
  return table('Stages, ' + s.direction, [
    { head: 'stage', cell: (r) => (r.total ? 'stack time' : words(r.stage.stage)) },
    { head: 'messages', cell: value((d) => count(d.n)) },
    { head: 'mean', cell: (r) => (r.d ? el('b', {}, time(r.d.mean_ns)) : '') },
    { head: 'min', cell: value((d) => time(d.min_ns)) },
    { head: 'p50', cell: value((d) => time(d.p50_ns)) },
    { head: 'p90', cell: value((d) => time(d.p90_ns)) },
    { head: 'p99', cell: value((d) => time(d.p99_ns)) },
    { head: 'p99.9', cell: value((d) => time(d.p999_ns)) },
    { head: 'max', cell: value((d) => time(d.max_ns)) },
    { head: 'below zero', cell: value((d) => count(d.negative)) },
    { head: 'share', cell: (r) => (r.total ? '100\u00a0%' : r.d ? percent(r.stage.share) : '') },
    { head: '', text: true, cell: (r) => stageRemark(r) },
  ], rows);
}

function stageRemark(r) {
  if (r.total) return '';
  if (!r.d) return 'not measured: ' + (r.stage.times.unavailable || 'no reason given');
  return r.stage.inside ? '' : 'below the link layer, beside the stack time';
}
