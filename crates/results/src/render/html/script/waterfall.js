// Bars that begin where the one before them ended.

const STEPS = { bar: waterfallBar, missing: waterfallGap, border: ({ name }) => el('li', { class: 'link' }, el('span', {}, name)) };

function blockWaterfall({ about, unit, steps, note: text }) {
  const ends = steps.flatMap((step) => step.ends || []).filter(isNumber);
  const low = smallest(ends, 0);
  const high = largest(ends, low + 1);
  const scale = { start: 0, at: (v) => (v - low) / (high - low) * 100, ticks: evenly(low, high) };
  return el('div', { class: 'waterfall', role: 'group', 'aria-label': about },
    el('ol', {}, steps.map((step) => STEPS[step.step](step, scale))), rulerOf(scale, AXES[unit].tick, 'rulerrow'),
    note(text));
}

function waterfallName({ name, about }) {
  return el('span', { class: 'stage' }, el('b', {}, name), el('small', {}, about));
}

function waterfallGap(step) {
  return el('li', { class: 'missing' }, waterfallName(step), el('span', { class: 'why' }, 'not measured: ' + step.why));
}

function waterfallBar(step, scale) {
  const [from, to] = [Math.min(...step.ends), Math.max(...step.ends)].map(scale.at);
  const bar = spanned(el('span', { class: 'bar ' + step.fill }), from, to - from);
  bar.style.setProperty('--c', 'var(--' + step.color + ')');
  return el('li', { class: step.fill }, waterfallName(step), el('span', { class: 'track' }, bar),
    el('span', { class: 'mean' }, step.text, step.aside && el('small', {}, step.aside)), el('span', { class: 'share' }, step.share));
}
