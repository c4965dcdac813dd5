// Every message has one fate: sent = delivered + each named loss.

function accounting({ result, facts }) {
  if (!result.trials.length) return [note('No trial was finished, so no message is accounted for.')];
  return [
    identity(result, facts), fateTable(result, facts), capturedTable(result.trials),
    lazyDetails('what each hook saw', () => hookTable(result.trials)),
    lazyDetails('what other counters say', () => counterTable(result.trials, facts)),
  ];
}

function fatesOf(trials) {
  return [...new Set(trials.flatMap((t) => t.accounting.fates.map((f) => fateName(f.fate))))];
}

function fateCount(trial, name) {
  return trial.accounting.fates.filter((f) => fateName(f.fate) === name).reduce((sum, f) => sum + f.count, 0);
}

function identity(result, facts) {
  const { trials } = result;
  const sum = (read) => trials.reduce((total, t) => total + read(t), 0);
  const terms = fatesOf(trials).map((name) => [name, sum((t) => fateCount(t, name))]);
  const gap = facts.accounting.reduce((total, a) => total + Math.abs(a.gap), 0);
  const wrong = facts.accounting.reduce((total, a) => total + a.agrees.filter((ok) => !ok).length, 0);
  return el('div', { class: 'identity ' + (gap === 0 ? 'closes' : 'open') },
    el('p', { class: 'sumline' }, el('span', {}, el('b', {}, count(sum((t) => t.accounting.sent))), ' sent'), ' = ',
      terms.map(([name, n], i) => [i > 0 ? ' + ' : '', el('span', {}, el('b', {}, count(n)), ' ' + name)])),
    el('p', {}, gap === 0 ? 'The sum closes in every trial.' : 'The sum does not close: a gap of ' + count(gap) + ' messages.', ' ',
      wrong === 0 ? 'Every counter tells the same story.' : count(wrong) + ' counters disagree.'));
}

function fateTable(result, facts) {
  const names = fatesOf(result.trials);
  const a = (t) => t.accounting;
  return table('Accounting of every trial', [
    { head: 'trial', cell: (t) => t.index + 1 },
    { head: 'kind', text: true, cell: (t) => words(t.kind) },
    { head: 'planned', cell: (t) => count(t.load.planned) },
    { head: 'sent', cell: (t) => count(a(t).sent) },
    ...names.map((name) => ({ head: name, cell: (t) => count(fateCount(t, name)) })),
    { head: 'gap', cell: (t) => gapMark(facts.accounting[result.trials.indexOf(t)]) },
    { head: 'refused', cell: (t) => refusedOf(t) },
    { head: 'duplicates', cell: (t) => count(a(t).duplicates) },
    { head: 'reordered', cell: (t) => count(a(t).reordered) },
    { head: 'foreign', cell: (t) => count(a(t).foreign) },
    { head: 'cut off', title: 'received, ours by its first bytes, but cut off before its end', cell: (t) => count(a(t).truncated) },
    { head: 'garbage', title: 'received, and no message at all', cell: (t) => count(a(t).garbage) },
    { head: 'unjoined tx', cell: (t) => count(a(t).unjoined_tx) },
    { head: 'unjoined rx', cell: (t) => count(a(t).unjoined_rx) },
    { head: 'verdict', text: true, cell: (t) => verdictMark(t.verdict) },
  ], result.trials);
}

function gapMark(closing) {
  return closing.gap === 0 ? 'closes' : el('span', { class: 'mark void' }, count(closing.gap));
}

function refusedOf(trial) {
  return trial.load.refused.map((r) => count(r.count) + ' ' + r.error).join(', ') || '0';
}

function hookTable(trials) {
  const rows = trials.flatMap((t) => t.accounting.hooks.map((h) => ({ t, h })));
  if (!rows.length) return note('This tap has no hooks.');
  return table('Hooks of every trial', [
    { head: 'trial', cell: (r) => r.t.index + 1 },
    { head: 'hook', text: true, cell: (r) => el('code', {}, r.h.hook) },
    { head: 'messages seen', cell: (r) => count(r.h.events) },
    { head: 'seen but not kept', cell: (r) => count(r.h.lost) },
  ], rows);
}

function counterTable(trials, facts) {
  const rows = trials.flatMap((t, i) => t.accounting.counters.map((c, k) => ({ t, c, ok: facts.accounting[i].agrees[k] })));
  if (!rows.length) return note('No counter was read.');
  return table('Counters of every trial', [
    { head: 'trial', cell: (r) => r.t.index + 1 },
    { head: 'counter', text: true, cell: (r) => r.c.counter },
    { head: 'expected', cell: (r) => count(r.c.expected) },
    { head: 'observed', cell: (r) => count(r.c.observed) },
    { head: '', text: true, cell: (r) => (r.ok ? 'agrees' : el('span', { class: 'mark void' }, 'disagrees'))},
    { head: '', text: true, cell: (r) => (r.c.shared ? 'strangers may move it too' : '') },
  ], rows);
}

// What the pcap tap captured; other taps capture nothing.
function capturedTable(trials) {
  const rows = trials.flatMap((t) => (t.captured || []).map((c) => ({ t, c })));
  if (!rows.length) return null;
  return el('div', {}, subtitle('What was captured'), table('What was captured in every trial', [
    { head: 'trial', cell: (r) => r.t.index + 1 },
    { head: 'way', text: true, cell: (r) => r.c.direction },
    { head: 'device', text: true, cell: (r) => r.c.device },
    { head: 'by', text: true, cell: (r) => r.c.by },
    { head: 'packets', cell: (r) => count(r.c.packets) },
    { head: 'dropped', title: 'by the kernel, because the capture had no room',
      cell: (r) => (r.c.dropped > 0 ? el('span', { class: 'mark degraded' }, count(r.c.dropped)) : count(r.c.dropped)) },
    { head: 'stamped early', title: 'packets whose time is an earlier one, since a program on the host asks for time stamps',
      cell: (r) => (r.c.stamped_early === null || r.c.stamped_early === undefined ? 'not known' : count(r.c.stamped_early)) },
    { head: 'duplicates', title: 'messages that were captured more than once', cell: (r) => count(r.c.duplicates) },
    { head: 'others', title: 'packets that were none of the trial’s messages', cell: (r) => count(r.c.others) },
    { head: 'file', text: true, wide: true, cell: (r) => r.c.file || 'not kept' },
  ], rows));
}
