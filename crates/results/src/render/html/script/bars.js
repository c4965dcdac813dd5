// Bars with their intervals on one scale, and its ruler.

function logScale(values) {
  const known = values.filter((v) => isNumber(v) && v > 0);
  if (!known.length) return null;
  const low = 10 ** Math.floor(Math.log10(smallest(known) / 1.5));
  const high = largest(known) * 1.1;
  return { start: low, at: (v) => Math.log10(Math.max(v, low) / low) / Math.log10(high / low) * 100, ticks: decades(low, high) };
}

// As far on either side of zero as there is something.
function zeroScale(values) {
  const known = [0, ...values.filter(isNumber)];
  const [least, most] = [smallest(known), largest(known)];
  const room = (most - least) * 0.06 || 1;
  const [low, high] = [least < 0 ? least - room : 0, most + room];
  if (known.length === 1 || !isNumber(high - low)) return null;
  return { start: 0, at: (v) => (v - low) / (high - low) * 100, ticks: evenly(low, high) };
}

function scaledBar({ name, about, value, ends, band, is_chance, text, color }, scale) {
  const between = (kind, from, to) => spanned(el('span', { class: kind }), scale.at(from), scale.at(to) - scale.at(from));
  const track = el('span', { class: 'track' });
  if (isNumber(band)) track.append(between('band', -band, band));
  if (isNumber(value) && (value > 0 || scale.start === 0)) {
    const bar = between(is_chance ? 'bar untold' : 'bar', Math.min(scale.start, value), Math.max(scale.start, value));
    bar.style.setProperty('--c', 'var(--' + color + ')');
    track.append(bar);
  }
  if (ends && ends.every(isNumber) && ends[1] > ends[0]) track.append(between('whisker', ...ends));
  if (scale.start === 0) track.append(between('zero', 0, 0));
  return el('div', { class: 'bounded' }, el('span', { class: 'what', title: about }, name), track,
    el('span', { class: is_chance ? 'value untold' : 'value' }, text));
}

function rulerOf(scale, tick, kind = 'rulerrow named') {
  const axis = el('div', { class: 'ruler', 'aria-hidden': 'true' });
  let last = -Infinity;
  for (const v of scale.ticks) {
    // A tick at the very edge would reach out of the page, and two close ones into each other.
    if (scale.at(v) > 96 || (v !== scale.start && scale.at(v) < 3) || scale.at(v) - last < 6) continue;
    last = scale.at(v);
    const mark = el('span', { class: last < 3 ? 'edge' : null }, tick(v));
    mark.style.left = last + '%';
    axis.append(mark);
  }
  return el('div', { class: kind }, axis);
}

function spanned(node, left, width) {
  node.style.left = Math.min(Math.max(left, 0), 100) + '%';
  if (width !== null) node.style.width = Math.max(Math.min(width, 100 - left), 0.2) + '%';
  return node;
}
