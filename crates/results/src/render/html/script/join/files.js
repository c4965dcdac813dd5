// What was in the captures and logs, and how their clocks were put together. Names of files may
// be long: they stand in lines of their own, which wrap.

function joinCaptures({ result, facts }) {
  if (!result.captures.length) return [note('No capture was read.')];
  return [el('div', { class: 'files' }, result.captures.map((c, i) => capturePart(c, facts.kinds[i] || {}, facts.steps[0][i], result.logs)))];
}

function damageLine(file) {
  return file.damage && el('p', { class: 'damage' }, el('span', { class: 'mark degraded' }, 'DAMAGED'), ' ', file.damage);
}

// Half a step was added to each time that was cut.
function stepsOf(steps) {
  return steps ? [['times in steps of', steps]] : [];
}

function capturePart(c, names, steps, logs) {
  const byLog = c.by_log || [];
  return el('article', {}, subtitle(c.name), damageLine(c), pairs([
    ['format', c.format], ...stepsOf(steps), ['link types', c.links.join(', ') || 'none'], ['packets', count(c.packets)],
    ['bytes captured', count(c.bytes)], ['first to last', seconds(c.span_ns / 1e9)],
    ['before the one before', count(c.backwards)], ['without a time', count(c.untimed || 0)],
  ]), byLog.length === 0 ? kindsLine('', c.packets, c.kinds, names)
    : byLog.map((of) => kindsLine('with ' + (logs[of.log] ? logs[of.log].name : NOT_KNOWN) + ': ', c.packets, of.kinds, names)));
}

function kindsLine(what, packets, kinds, names) {
  const sum = kinds.reduce((total, k) => total + k.count, 0);
  return kinds.length > 0 && el('p', { class: 'sumline' }, what, el('b', {}, count(packets)), sum === packets ? ' = ' : ' \u2260 ',
    kinds.map((k, i) => [i > 0 ? ' + ' : '', el('span', {}, el('b', {}, count(k.count)), ' ' + (names[k.kind] || words(k.kind)))]));
}

function joinLogs({ result, facts }) {
  if (!result.logs.length) return [note('No log was read.')];
  return [el('div', { class: 'files' }, result.logs.map((l, i) => logPart(l, facts.steps[1][i], result.captures)))];
}

function logPart(l, steps, captures) {
  const times = [l.has_sent && 'sending', l.has_received && 'receiving'].filter(Boolean).join(' and ') || 'none';
  const missing = captures.map((c, i) => ({ c, missing: l.missing[i], reordered: l.reordered[i] }));
  return el('article', {}, subtitle(l.name), damageLine(l), pairs([
    ['format', l.format], ...stepsOf(steps), ['messages', count(l.messages)], ['times of', times], ['clock', l.clock],
    ['records that say nothing', count(l.unusable)],
  ]), missing.length > 0 && el('div', { class: 'compared' }, table('Messages of ' + l.name + ' in the captures', [
    { head: 'capture', text: true, cell: (r) => r.c.name },
    { head: 'not in it', cell: (r) => count(r.missing) },
    { head: 'in it after a later one', cell: (r) => count(r.reordered) },
  ], missing)));
}

function joinClocks({ result }) {
  if (!result.clocks.length) return [note('No clock had to be put on another.')];
  const name = (file) => (file ? file.name : NOT_KNOWN);
  return [el('div', { class: 'compared' }, table('What was added to the times of a log', [
    { head: 'log', text: true, cell: (c) => name(result.logs[c.log]) },
    { head: 'capture', text: true, cell: (c) => name(result.captures[c.capture]) },
    { head: 'added at its begin', cell: (c) => longTime(c.offset_ns) },
    { head: 'moved until its end', cell: (c) => time(c.moved_ns) },
    { head: 'drift', cell: (c) => (isNumber(c.drift_ppm) ? trueMinus(grouped(c.drift_ppm, 4)) + '\u00a0ppm' : NOT_KNOWN) },
    { head: 'how', text: true, wide: true, cell: (c) => c.how },
  ], result.clocks)), note('A difference between two clocks may be that of their beginnings, which lie years apart. The record has it to the nanosecond.')];
}

// Clocks that begin in different years are seconds apart, not microseconds.
function longTime(ns) {
  return Math.abs(ns) < 1e9 ? time(ns) : trueMinus(grouped(ns / 1e9, 6)) + '\u00a0s';
}
