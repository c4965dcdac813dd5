// A figure of lines: what was measured here in colour, the source's lines quiet beside it.

const HERE_COLOURS = ['tx', 'rx', 'call', 'lag'];
const QUIET_LOOKS = ['quiet', 'quiet-dashed', 'quiet-dotted', 'quiet-dashdot'];

function figureSections({ result, facts }) {
  if (!result.figures.length) return [note('Nothing was drawn of it.')];
  return result.figures.map((f, i) => (f.kind === 'bars' ? barsFigure(f, facts.figures[i] || []) : linesFigure(f, i)));
}

// What was measured here is told apart by colour, what the source says by its dashes.
function figureStyles(figure) {
  let here = 0;
  let there = 0;
  return figure.series.map((s) => (s.here
    ? { colour: HERE_COLOURS[here++ % HERE_COLOURS.length], look: 'strong' }
    : { colour: 'muted', look: QUIET_LOOKS[there++ % QUIET_LOOKS.length] }));
}

function plainNumber(value) {
  if (!isNumber(value)) return NOT_KNOWN;
  const size = Math.abs(value);
  if (size >= 1e4) return trueMinus(grouped(value, 0));
  return trueMinus(String(Number(value.toPrecision(4))));
}

// A round number, as it stands beside a tick.
function figureTick(value) {
  const size = Math.abs(value);
  const text = size >= 1e4 ? shortRate(size) : trimZeros(size);
  return (value < 0 ? '\u2212' : '') + text;
}

// One axis holds all points. Points of one series at the same place stay apart.
function commonAxis(series) {
  const most = new Map();
  for (const s of series) {
    const seen = new Map();
    for (const p of s.points) seen.set(p.x, (seen.get(p.x) || 0) + 1);
    for (const [x, n] of seen) most.set(x, Math.max(n, most.get(x) || 0));
  }
  const xs = [...most.keys()].sort((a, b) => a - b).flatMap((x) => new Array(most.get(x)).fill(x));
  const laid = (points, read) => {
    const left = new Map();
    for (const p of points) left.set(p.x, [...(left.get(p.x) || []), p]);
    return xs.map((x) => {
      const next = (left.get(x) || []).shift();
      const value = next && read(next);
      return isNumber(value) ? value : null;
    });
  };
  return { xs, laid };
}

function linesFigure(figure, number) {
  const styles = figureStyles(figure);
  const { xs, laid } = commonAxis(figure.series);
  const all = figure.series.flatMap((s) => s.points);
  const series = figure.series.map((s, i) => ({ ...styles[i], label: s.name || (s.here ? 'here' : 'there'), group: 'series ' + i,
    groupName: s.name, joined: true, marked: s.points.length <= 60, values: laid(s.points, (p) => p.y), halves: laid(s.points, (p) => p.half_width) }));
  const ends = all.flatMap((p) => [p.y - (p.half_width || 0), p.y + (p.half_width || 0)]).filter(isNumber);
  return chart({
    id: 'figure-' + number, title: figure.title, height: 320, xs, series,
    quantity: { label: figure.y, tick: figureTick, read: plainNumber, zero: true },
    x: { label: figure.x, tick: figureTick, read: (v) => 'at ' + plainNumber(v), head: figure.x, cell: plainNumber },
    about: figure.y + ' against ' + figure.x + '.', reach: ends.length ? [smallest(ends), largest(ends)] : null,
    over: (u) => { drawHalves(u, series); nameLines(u, series); },
  });
}

function drawHalves(u, series) {
  const cap = 3 * devicePixelRatio;
  within(u, () => series.forEach((s, k) => {
    if (!u.series[k + 1].show) return;
    u.ctx.strokeStyle = colour(s.colour);
    u.ctx.lineWidth = 1.5 * devicePixelRatio;
    u.ctx.setLineDash([]);
    u.ctx.beginPath();
    s.halves.forEach((half, i) => {
      if (!(half > 0) || !isNumber(s.values[i])) return;
      const x = u.valToPos(u.data[0][i], 'x', true);
      const [low, high] = [-half, half].map((d) => u.valToPos(s.values[i] + d, 'y', true));
      for (const [a, b] of [[[x, low], [x, high]], [[x - cap, low], [x + cap, low]], [[x - cap, high], [x + cap, high]]]) {
        u.ctx.moveTo(...a);
        u.ctx.lineTo(...b);
      }
    });
    u.ctx.stroke();
  }));
}

// A line carries its name where it ends, unless there is no room for so many.
function nameLines(u, series) {
  const size = 12 * devicePixelRatio;
  if (u.width < 520 || series.length > 6) return;
  const { left, top, width, height } = u.bbox;
  const names = series.flatMap((s, k) => {
    const last = u.series[k + 1].show ? s.values.findLastIndex((v, i) => isNumber(v) && u.data[0][i] <= u.scales.x.max) : -1;
    if (last < 0) return [];
    return [{ s, x: u.valToPos(u.data[0][last], 'x', true), y: u.valToPos(s.values[last], 'y', true) - size }];
  }).sort((a, b) => b.y - a.y);
  let floor = top + height - size / 2;
  for (const name of names) {
    name.y = Math.min(name.y, floor);
    floor = name.y - size * 1.25;
  }
  within(u, () => names.forEach(({ s, x, y }) => {
    const text = s.label.length > 30 ? s.label.slice(0, 29) + '\u2026' : s.label;
    u.ctx.font = (s.look === 'strong' ? '600 ' : '') + FONT.replace('11px', size + 'px');
    u.ctx.textBaseline = 'middle';
    u.ctx.textAlign = 'left';
    const wide = u.ctx.measureText(text).width;
    const at = Math.max(left + 4, Math.min(x - wide / 2, left + width - wide - 6));
    u.ctx.lineWidth = 4 * devicePixelRatio;
    u.ctx.lineJoin = 'round';
    u.ctx.strokeStyle = colour('ground');
    u.ctx.strokeText(text, at, y);
    u.ctx.fillStyle = colour(s.colour);
    u.ctx.fillText(text, at, y);
  }));
}
