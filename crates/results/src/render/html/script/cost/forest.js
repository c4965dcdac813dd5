// Differences with their intervals, a row each, on one scale beside nothing.

// Where the largest is so many times as much the small ones would be lost on a linear scale.
const MOST_LINEAR_SHARE = 3;

const LOG_SHARES = [-0.9, -0.5, -0.2, 0, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000];

function forestEnds(rows) {
  return rows.filter((r) => r.number && isNumber(r.number.value)).flatMap(({ number, seen }) => [number.value,
    ...(isNumber(number.half) ? [number.value - number.half, number.value + number.half] : []), ...(isNumber(seen) ? [-seen, seen] : [])]);
}

// {name, title, number: {value, half, text}, seen: half of the band in which nothing would have been seen, told, paint}
function forestScale(rows, shares) {
  const ends = [0, ...forestEnds(rows)].filter(isNumber);
  const log = shares && largest(ends) > MOST_LINEAR_SHARE;
  const place = (v) => (log ? Math.log1p(Math.max(v, -0.95)) : v);
  const [least, most] = [smallest(ends), largest(ends)].map(place);
  const room = (most - least) * 0.06 || 1;
  const [low, high] = [least < 0 ? least - room : least, most + room];
  if (!isNumber(high - low)) return null;
  return { low, high, log, at: (v) => Math.min(100, Math.max(0, (place(v) - low) / (high - low) * 100)) };
}

function forest(rows, { tick, shares }) {
  const scale = forestScale(rows, shares);
  if (!scale) return note('There is no value to draw.');
  return el('div', { class: 'forest' }, rows.map((row) => forestRow(row, scale)), forestRuler(scale, tick));
}

function forestRow({ name, title, number, seen, told, paint }, scale) {
  const track = el('span', { class: 'track' });
  const between = (kind, from, to) => spanned(el('span', { class: kind }), scale.at(from), scale.at(to) - scale.at(from));
  if (isNumber(seen)) track.append(between('band', -seen, seen));
  if (number && isNumber(number.value)) {
    const bar = between(told ? 'bar' : 'bar untold', Math.min(0, number.value), Math.max(0, number.value));
    bar.style.setProperty('--c', 'var(--' + paint + ')');
    track.append(bar);
    if (isNumber(number.half)) track.append(between('whisker', number.value - number.half, number.value + number.half));
  }
  track.append(between('zero', 0, 0));
  return el('div', { class: 'bounded named' }, el('span', { class: 'what', title }, name), track,
    el('span', { class: 'value' + (told ? '' : ' untold') }, numberText(number)));
}

function forestTicks({ low, high, log }) {
  if (log) return LOG_SHARES.filter((v) => Math.log1p(v) >= low && Math.log1p(v) <= high);
  const step = niceStep((high - low) / 6);
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high && found.length < 12; i += 1) found.push(Number((i * step).toPrecision(6)));
  return found;
}

function forestRuler(scale, tick) {
  const axis = el('div', { class: 'ruler', 'aria-hidden': 'true' });
  let last = -Infinity;
  for (const v of forestTicks(scale)) {
    // A tick at the very edge would reach out of the page, and two close ones into each other.
    if (scale.at(v) > 96 || (v !== 0 && scale.at(v) < 3) || scale.at(v) - last < 9) continue;
    last = scale.at(v);
    const mark = el('span', {}, tick(v));
    mark.style.left = last + '%';
    axis.append(mark);
  }
  return el('div', { class: 'rulerrow named' }, axis);
}

function shareForest(rows) {
  return forest(rows, { shares: true, tick: (v) => shareTick(v) + '\u00a0%' });
}
