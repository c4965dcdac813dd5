// `netfathom reverse`: what incoming load takes, variant by variant.

const PHASES = ['before', 'rise', 'peak', 'after'];
const PEAK = 2;

const VARIANTS = {
  ignored: 'nobody reads what comes in',
  other_thread: 'another thread reads what comes in',
  same_thread: 'the sending thread reads between its messages',
  echo: 'the far end sends the load back, another thread reads',
};

function variantName(variant) {
  return String(variant).replaceAll('_', '-');
}

function summedUp(result) {
  return result.variants.filter((v) => v.summary);
}

function changed(s) {
  return bigAndHalf(SHARE, -s.drop, s.drop_interval && s.drop_interval.half_width);
}

function between(share, interval) {
  return withHalf(SHARE, share, interval && interval.half_width);
}

function reverseGlance({ result }) {
  const cards = summedUp(result).map(({ variant, summary: s }) => card({
    kind: 'rx', title: variantName(variant), big: changed(s)[0],
    aside: changed(s)[1] || 'one trial: no interval',
    small: VARIANTS[variant] || '',
    rows: [['before', rate(s.outgoing_per_s[0])], ['at peak', rate(s.outgoing_per_s[PEAK])],
      ['recovery', percent(s.recovery)]] }));
  if (!cards.length) return [note('No trial was finished: there is nothing to sum up.')];
  return [cardsOf(cards), note('The change of the outgoing rate from before the inbound load to its peak; recovery is the rate after it, '
    + 'of the rate before. ' + (result.steered ? 'Incoming packets were handled on the sender’s processor.'
    : 'Incoming packets were handled wherever the kernel put them.'))];
}

function phaseTables({ result }) {
  const variants = summedUp(result);
  if (!variants.length) return [note('No trial was finished.')];
  return [columnsOf(variants.map(phaseTable)), note('Stack: mean stack time of the outgoing messages. Waited: part of the time in '
    + 'which the sender was ready but did not run. ±: 95 % interval between the trials.'), lazyDetails('each trial', () => reverseTrials(result))];
}

function phaseTable({ variant, summary: s }) {
  const rows = [
    { what: 'outgoing', values: s.outgoing_per_s.map((r) => rate(r)) },
    { what: 'inbound', values: s.inbound_per_s.map((r) => rate(r)) },
    ...(s.stack_mean_ns ? [{ what: 'stack', values: s.stack_mean_ns.map(time) }] : []),
    { what: 'waited', values: s.sender_waited.map((v) => percent(v)) },
  ];
  return el('div', {}, subtitle(variantName(variant)), table('Phases, ' + variantName(variant), [
    { head: '', cell: (r) => r.what },
    ...PHASES.map((name, i) => ({ head: name, cell: (r) => r.values[i] })),
  ], rows), note('Drop ' + between(s.drop, s.drop_interval) + ', recovery ' + between(s.recovery, s.recovery_interval) + '.'));
}

function reverseTrials(result) {
  const rows = result.variants.flatMap((v) => v.trials.map((t) => ({ v, t })));
  const at = (r, i) => (r.t.phases[i] ? rate(r.t.phases[i].outgoing_per_s) : '');
  return table('Trials', [
    { head: 'variant', cell: (r) => variantName(r.v.variant) },
    { head: 'trial', cell: (r) => r.t.index + 1 },
    { head: 'out before', cell: (r) => at(r, 0) },
    { head: 'at peak', cell: (r) => at(r, PEAK) },
    { head: 'after', cell: (r) => at(r, 3) },
    { head: 'sent', cell: (r) => count(r.t.sent) },
    { head: 'counted by the far device', cell: (r) => count(r.t.arrived) },
    { head: 'sent in', cell: (r) => count(r.t.inbound_sent) },
    { head: 'read', cell: (r) => count(r.t.inbound_read) },
    { head: 'verdict', text: true, cell: (r) => verdictMark(r.t.verdict) },
  ], rows);
}

function stageChanges({ result, facts }) {
  const variants = summedUp(result).filter((v) => v.summary.stages.length);
  if (!variants.length) return [note(result.tap ? 'No stage was measured.' : 'No tap was on, so no stage was measured.')];
  const outside = (s) => (facts.stages[s.stage] || {}).inside === false;
  const parts = variants.map(({ variant, summary }) => el('div', {}, subtitle(variantName(variant)),
    table('Stages, ' + variantName(variant), [
      { head: 'stage', cell: (s) => words(s.stage) + (outside(s) ? ' *' : '') },
      { head: 'before', cell: (s) => time(s.before_ns) },
      { head: 'at peak', cell: (s) => el('b', {}, time(s.peak_ns)) },
      { head: 'change', cell: (s) => (s.peak_ns > s.before_ns ? '+' : '') + time(s.peak_ns - s.before_ns) },
      { head: 'times', cell: (s) => (s.before_ns > 0 ? '×\u00a0' + grouped(s.peak_ns / s.before_ns, 2) : '') },
    ], summary.stages)));
  const starred = variants.some((v) => v.summary.stages.some(outside));
  return [columnsOf(parts), starred && note('* below the link layer: beside the stack time, not in it.')];
}
