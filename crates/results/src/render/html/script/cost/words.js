// `netfathom cost`: colours, axes and choices that its pictures share.

const EFFECT_COLOURS = { program: 'rx', load: 'planned', both: 'lag', observation: 'call' };

const CONDITION_COLOURS = ['rate', 'rx', 'tx', 'planned', 'call', 'lag', 'stage-qdisc', 'cause-slow-sender', 'cause-nagle', 'cause-loss'];

function conditionColour(index) {
  return CONDITION_COLOURS[index % CONDITION_COLOURS.length];
}

function conditionName(facts, index) {
  return facts.conditions[index] || 'condition ' + (index + 1);
}

function shareTick(share) {
  return trueMinus(trimZeros(share * 100));
}

const SLOWDOWN = { label: '%', tick: shareTick, read: percent, zero: true };

const COST_TIME = { label: 'time', tick: tickTime, read: time, zero: true, size: 58 };

// Of places on an axis those that have room beside each other: both ends before all.
function spacedOut(u, all, axis, apart) {
  const { min, max } = u.scales[axis];
  const places = all.filter((v) => v >= min && v <= max);
  const gap = (a, b) => Math.abs(u.valToPos(a, axis) - u.valToPos(b, axis));
  const [first, last] = [places[0], places[places.length - 1]];
  const between = places.slice(1, -1).reduce((kept, v) =>
    (gap(v, kept[kept.length - 1]) < apart || gap(v, last) < apart ? kept : [...kept, v]), [first]);
  return places.length < 2 ? places : gap(first, last) < apart ? [last] : [...between, last];
}

// What Rust has written of a number.
function numberText(number) {
  return number ? trueMinus(number.text) : NOT_KNOWN;
}

// Everything that a benchmark says, one benchmark at a time.
function eachBenchmark({ result, facts }, build) {
  if (!result.benchmarks.length) return note('No benchmark was run.');
  return choice('benchmark', result.benchmarks.map((b, i) => ({ name: b.name, build: () => build(b, facts.benchmarks[i], i) })));
}

// One comparison at a time; first the one that the answer is about.
function eachComparison(context, build) {
  return eachBenchmark(context, (benchmark, fact, place) => {
    if (!fact.comparisons.length) return note(benchmark.name + ': nothing was compared.');
    const all = benchmark.comparisons.map((c, i) => ({ c, fact: fact.comparisons[i], id: place + '-' + i, index: i }));
    const shown = all[fact.shown] || all[0];
    return choice('effect', fact.effects.map((e) => {
      const here = all.filter((one) => one.c.effect === e.effect);
      return { name: e.name, build: () => choice('comparison', here.map((one) => ({ name: one.fact.row, build: () =>
        el('div', {}, note(benchmark.name + ': ', one.fact.beside), build(one, benchmark, fact)) })), Math.max(0, here.indexOf(shown))) };
    }), Math.max(0, fact.effects.findIndex((e) => e.effect === shown.c.effect)));
  });
}
