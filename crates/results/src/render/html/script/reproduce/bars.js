// A figure of bars: what is compared in groups, a bar a series, all from zero on one scale.

function barsFigure(figure, shown) {
  const groups = barGroups(figure, shown);
  if (!groups.length) return note(figure.title + ': there is no value to draw.');
  const scale = barScale(figure);
  const styles = figureStyles(figure);
  const key = figure.series.map((s, i) => [s.name, styles[i].colour, s.here ? 'layer' : 'layer pale-' + paleOf(figure, i)]);
  return el('figure', { class: 'chart bars-figure' },
    el('figcaption', {}, el('b', {}, figure.title), el('span', { class: 'unit' }, ' ' + figure.y + ', by ' + figure.x)), colourKey(key),
    el('ol', { class: 'bars' }, groups.map((g) => el('li', {}, el('p', {}, el('b', {}, g.name)),
      g.bars.map((bar) => figureBar({ ...bar, told: bar.here && figure.series.some((s) => !s.here) }, scale, styles[bar.series], paleOf(figure, bar.series)))))),
    barRuler(scale));
}

// The source's bars are grey, each series a shade of its own.
function paleOf(figure, index) {
  return figure.series.slice(0, index).filter((s) => !s.here).length % 4;
}

function barGroups(figure, shown) {
  const groups = new Map();
  figure.series.forEach((s, i) => s.points.forEach((p, k) => {
    if (!isNumber(p.y)) return;
    const name = p.label || plainNumber(p.x);
    if (!groups.has(name)) groups.set(name, { name, x: p.x, bars: [] });
    groups.get(name).bars.push({ series: i, name: s.name, here: s.here, point: p, text: (shown[i] || [])[k] });
  }));
  return [...groups.values()].sort((a, b) => a.x - b.x);
}

function barScale(figure) {
  const ends = figure.series.flatMap((s) => s.points).filter((p) => isNumber(p.y))
    .flatMap((p) => [p.y - (p.half_width || 0), p.y, p.y + (p.half_width || 0)]);
  const low = smallest(ends.filter((_, i) => i % 3 === 1), 0) * 1.05;
  const high = largest(ends, 0) * 1.05 || 1;
  return { low, high, at: (v) => Math.min(100, Math.max(0, (v - low) / (high - low) * 100)) };
}

function figureBar({ name, here, told, point, text }, scale, style, pale) {
  const [from, to] = [Math.min(0, point.y), Math.max(0, point.y)].map(scale.at);
  const bar = spanned(el('span', { class: here ? 'bar' : 'bar pale-' + pale }), from, to - from);
  bar.style.setProperty('--c', 'var(--' + style.colour + ')');
  const track = el('span', { class: 'track' }, bar);
  if (point.half_width > 0) {
    const [low, high] = [point.y - point.half_width, point.y + point.half_width].map(scale.at);
    track.append(spanned(el('span', { class: 'whisker' }), low, high - low));
  }
  const value = text ? besideCell(text) : plainNumber(point.y);
  return el('div', { class: 'bounded named' + (told ? ' here' : '') }, el('span', { class: 'what' }, name), track,
    el('span', { class: 'value' }, value));
}

function barRuler(scale) {
  const axis = el('div', { class: 'ruler', 'aria-hidden': 'true' });
  const step = niceStep((scale.high - scale.low) / 4);
  for (let v = Math.ceil(scale.low / step) * step; v <= scale.high; v += step) {
    // A tick at the very edge would reach out of the page.
    if (scale.at(v) > 96) continue;
    const tick = el('span', {}, figureTick(Number(v.toPrecision(6))));
    tick.style.left = scale.at(v) + '%';
    axis.append(tick);
  }
  return el('div', { class: 'rulerrow named' }, axis);
}
