// `netfathom load send`: the figures that most readers came for, and the engine.

function loadedTrials(result) {
  return result.trials.filter((t) => t.kind === 'loaded');
}

function loadGlance({ result }) {
  const s = result.summary;
  if (!s) return [note('No loaded trial was finished: there is nothing to sum up.')];
  const [reached, half] = bigAndHalf(RATE, s.reached_per_s, s.between_trials_per_s);
  const cards = [card({ kind: 'rate', title: 'What left', big: reached,
    aside: half || 'one trial: no interval',
    small: 'messages a second from the first departure to the last, ' + counted(s.trials, 'trial'),
    rows: [['of the plan', percentDown(s.of_plan)], ['lost', isNumber(s.lost) ? percent(s.lost) : 'nobody told'],
      ['engine', words(result.engine)]] })];
  cards.push(card({ kind: 'lag', title: 'How late', big: time(s.lag.p99_ns), aside: 'p99 of the lag',
    small: 'actual minus intended departure of ' + count(s.lag.n) + ' messages',
    rows: [['p50', time(s.lag.p50_ns)], ['p99.9', time(s.lag.p999_ns)], ['max', time(s.lag.max_ns)]] }));
  if (s.echo_loaded) cards.push(echoCard(s.echo_loaded));
  return [cardsOf(cards)];
}

function echoCard(echo) {
  return card({ kind: 'rx', title: 'What answers took', big: time(echo.response.p99_ns), aside: 'p99 of the response',
    small: 'from the intended departure to the answer, ' + count(echo.answered) + ' answers',
    rows: [['p50', time(echo.response.p50_ns)], ['p99.9', time(echo.response.p999_ns)],
      ['p99 of the service', time(echo.service.p99_ns)]] });
}

function ladder({ result }) {
  const how = result.receive ? 'The far end received by ' + words(result.receive) + '.' : 'Nobody told how the messages were received.';
  if (!result.ladder.length) return [note('The engine ', el('b', {}, words(result.engine)), ' was asked for by name. ' + how)];
  return [table('The ladder of engines', [
    { head: 'engine', cell: (s) => (s.taken ? el('b', {}, words(s.engine)) : words(s.engine)) },
    { head: 'flat out', title: 'what a short burst without pauses reached', cell: (s) => rate(s.flat_out_per_s) },
    { head: 'lag p99 of a slot', title: 'at the wanted rate; a slot is what a full batch of the engine takes',
      cell: (s) => percent(s.lag_p99_of_slot) },
    { head: 'taken', text: true, cell: (s) => (s.taken ? el('span', { class: 'mark valid' }, 'TAKEN') : 'no') },
    { head: 'why', text: true, wide: true, cell: (s) => s.why },
  ], result.ladder), note('The ladder is climbed from the engine that is most like a program; the lowest that is in time is taken. ' + how)];
}

function loadTrials({ result }) {
  if (!result.trials.length) return [note('No trial was finished.')];
  const parts = [table('Trials', [
    { head: 'trial', cell: (t) => t.index + 1 },
    { head: 'kind', text: true, cell: (t) => words(t.kind) },
    { head: 'sent', cell: (t) => count(t.load.sent) },
    { head: 'reached', cell: (t) => el('b', {}, rate(t.reached_per_s)) },
    { head: 'of the plan', cell: (t) => percentDown(t.load.sent / t.load.planned) },
    { head: 'lost', cell: (t) => lostOf(result, t) },
    { head: 'lag p50', cell: (t) => time(t.load.lag.p50_ns) },
    { head: 'p99', cell: (t) => time(t.load.lag.p99_ns) },
    { head: 'max', cell: (t) => time(t.load.lag.max_ns) },
    { head: 'missed slots', cell: (t) => count(t.load.missed_slots) },
    { head: 'verdict', text: true, cell: (t) => verdictMark(t.verdict) },
  ], result.trials)];
  return [...parts, subtitle('Workers'), workerTable(result)];
}

function lostOf(result, trial) {
  const { sent } = trial.accounting;
  if (!result.receive || !sent) return NOT_KNOWN;
  return percent((sent - fateCount(trial, 'delivered')) / sent);
}

function workerTable(result) {
  const rows = result.trials.flatMap((t) => t.workers.map((w, i) => ({ t, w, i })));
  if (!rows.length) return note('No worker was recorded.');
  return table('Workers of every trial', [
    { head: 'trial', cell: (r) => r.t.index + 1 },
    { head: 'worker', cell: (r) => r.i + 1 },
    { head: 'processor', cell: (r) => r.w.cpu },
    { head: 'sent', cell: (r) => count(r.w.sent) },
    { head: 'lag p99', cell: (r) => time(r.w.lag_p99_ns) },
    { head: 'processor time a message', cell: (r) => (r.w.sent ? time(r.w.cpu_ns / r.w.sent) : NOT_KNOWN) },
    { head: 'of its processor', cell: (r) => (r.t.load.span_ns ? percent(r.w.cpu_ns / r.t.load.span_ns) : NOT_KNOWN) },
  ], rows);
}
