// Bars that begin where the one before them ended.

const STEPS = { bar: waterfallBar, missing: waterfallGap, border: ({ name }) => el('li', { class: 'link' }, el('span', {}, name)) };

function blockWaterfall({ about, unit, steps, note: text }) {
  const ends = steps.flatMap((step) => step.ends || []).filter(isNumber);
  const low = smallest(ends, 0);
  const high = largest(ends, low + 1);
  const scale = { low, high, at: (v) => (v - low) / (high - low) * 100 };
  return el('div', { class: 'waterfall', role: 'group', 'aria-label': about },
    el('ol', {}, steps.map((step) => STEPS[step.step](step, scale))), waterfallRuler(scale, AXES[unit].tick),
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

function waterfallRuler({ low, high, at }, tick) {
  const axis = el('div', { class: 'ruler', 'aria-hidden': 'true' });
  const step = niceStep((high - low) / 4);
  // A tick at the very edge would reach out of the page.
  for (let v = Math.ceil(low / step) * step; at(v) <= 94; v += step) {
    const mark = el('span', {}, tick(v));
    mark.style.left = at(v) + '%';
    axis.append(mark);
  }
  return el('div', { class: 'rulerrow' }, axis);
}
