// Curves over the run that more than one measurement draws.

function trialLabel(trial) {
  return 'trial ' + (trial.index + 1);
}

function padded(values, length) {
  return Array.from({ length }, (_, i) => (isNumber(values[i]) ? values[i] : null));
}

// Trials faint, all of them together strong. A single trial needs no second curve.
function curves(trials, colourName, length, values, all, allLabel) {
  const each = trials.length < 2 ? [] : trials.map((t) => ({ label: trialLabel(t), group: 'single trials',
    colour: colourName, look: 'faint', values: padded(values(t), length) }));
  const label = trials.length < 2 ? trialLabel(trials[0]) : allLabel;
  return [...each, { label, colour: colourName, look: 'strong', values: padded(all, length) }];
}

function rateChart(facts, trials, xs) {
  const of = (t) => achieved(t, facts.duration_s);
  const rates = trials.map(of);
  const mean = xs.map((_, i) => meanOf(rates.map((r) => r[i])));
  const length = trials[0].load.series.window_ns / 1e9;
  const wanted = xs.map((_, i) => planned(facts.pieces, i * length, (i + 1) * length));
  return chart({
    id: 'rate', title: 'Rate', kind: 'rate', sync: 'run', x: TIME_X, xs, height: 170,
    about: 'Planned and achieved messages a second in each window.',
    series: [{ label: 'planned', colour: 'planned', look: 'broad', values: wanted },
      ...curves(trials, 'rate', xs.length, of, mean, 'achieved')],
  });
}
