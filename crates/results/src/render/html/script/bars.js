// Bars on a logarithmic scale with its ruler.

function logScale(values) {
  const known = values.filter((v) => isNumber(v) && v > 0);
  if (!known.length) return null;
  const low = 10 ** Math.floor(Math.log10(smallest(known) / 1.5));
  const high = largest(known) * 1.1;
  return { low, high, at: (v) => Math.log10(v / low) / Math.log10(high / low) * 100 };
}

// {name, title, value, ends: [low, high] of an interval, text, paint}
function logBar({ name, title, value, ends, text, paint }, scale) {
  const track = el('span', { class: 'track' });
  if (value > 0) {
    const bar = spanned(el('span', { class: 'bar' }), 0, scale.at(value));
    bar.style.setProperty('--c', 'var(--' + paint + ')');
    track.append(bar);
  }
  if (ends && ends[1] > ends[0]) {
    const low = scale.at(Math.max(ends[0], scale.low));
    track.append(spanned(el('span', { class: 'whisker' }), low, scale.at(ends[1]) - low));
  }
  return el('div', { class: 'bounded named' }, el('span', { class: 'what', title }, name), track, el('span', { class: 'value' }, text));
}

function logRuler(scale, tick) {
  const axis = el('div', { class: 'ruler', 'aria-hidden': 'true' });
  for (const v of decades(scale.low, scale.high)) {
    // A tick at the very edge would reach out of the page.
    if (scale.at(v) > 96) continue;
    const mark = el('span', {}, tick(v));
    mark.style.left = scale.at(v) + '%';
    axis.append(mark);
  }
  return el('div', { class: 'rulerrow named' }, axis);
}

function spanned(node, left, width) {
  node.style.left = Math.min(Math.max(left, 0), 100) + '%';
  if (width !== null) node.style.width = Math.max(Math.min(width, 100 - left), 0.2) + '%';
  return node;
}
