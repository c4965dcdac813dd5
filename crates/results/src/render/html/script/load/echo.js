// What answers took: the picture that shows coordinated omission.

function echoSection({ result, facts }) {
  if (!result.plan.echo) return [note('Answers were not asked for; --echo does.')];
  const s = result.summary;
  if (!s || !facts.echo.length) return [note('No trial with answers was finished.')];
  const curve = (what, loaded) => (facts.echo.find((e) => e.what === what && e.loaded === loaded) || {}).values || [];
  const filled = (values) => facts.quantiles.map((_, i) => (isNumber(values[i]) ? values[i] : null));
  const series = [
    percentileCurve('response, loaded', 'rx', 'strong', filled(curve('response', true))),
    percentileCurve('service, loaded', 'tx', 'strong', filled(curve('service', true))),
    percentileCurve('lag, loaded', 'lag', 'strong', filled(facts.lag)),
    percentileCurve('response, idle', 'rx', 'dashed', filled(curve('response', false))),
    percentileCurve('service, idle', 'tx', 'dashed', filled(curve('service', false))),
  ].filter((c) => c.values.some(isNumber));
  return [percentileChart('echo', 'Response, service and lag by percentile', facts, series), omission(s.echo_loaded),
    echoTable(s), note('Response: from the intended departure to the answer, what a user waits for. Service: from the '
      + 'actual departure, what a tester sees who starts the clock when the message leaves. They differ by the lag. '
      + 'Idle: so few messages that none waits for another.')];
}

function omission(echo) {
  if (!echo || !echo.response.n) return null;
  const { service, response } = echo;
  return el('p', { class: 'capability' }, 'A tester that starts its clock at the actual departure would have reported p99.9 ',
    el('b', {}, time(service.p999_ns)), ' instead of ', el('b', {}, time(response.p999_ns)), ', and p99 ',
    el('b', {}, time(service.p99_ns)), ' instead of ', el('b', {}, time(response.p99_ns)),
    ': it leaves out what the load itself made wait (coordinated omission).');
}

function echoTable(s) {
  const rows = [
    ['response', 'idle', s.echo_idle && s.echo_idle.response], ['response', 'loaded', s.echo_loaded && s.echo_loaded.response],
    ['service', 'idle', s.echo_idle && s.echo_idle.service], ['service', 'loaded', s.echo_loaded && s.echo_loaded.service],
    ['lag', 'loaded', s.lag],
  ].filter((r) => r[2] && r[2].n > 0);
  return table('Response, service and lag', [
    { head: '', cell: (r) => r[0] + ', ' + r[1] },
    { head: 'messages', cell: (r) => count(r[2].n) },
    { head: 'mean', cell: (r) => time(r[2].mean_ns) },
    { head: 'p50', cell: (r) => time(r[2].p50_ns) },
    { head: 'p90', cell: (r) => time(r[2].p90_ns) },
    { head: 'p99', cell: (r) => time(r[2].p99_ns) },
    { head: 'p99.9', cell: (r) => time(r[2].p999_ns) },
    { head: 'max', cell: (r) => time(r[2].max_ns) },
  ], rows);
}
