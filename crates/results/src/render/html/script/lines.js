// What a curve looks like.

// Lines of others, with dashes that differ.
const QUIET_DASHES = { quiet: [], 'quiet-dashed': [7, 4], 'quiet-dotted': [2, 3], 'quiet-dashdot': [9, 3, 2, 3] };

function lineOf(s) {
  const line = { label: s.label, scale: 'y', spanGaps: Boolean(s.joined), points: { show: false } };
  const plain = () => colour(s.colour);
  if (s.look in QUIET_DASHES) {
    return { ...line, width: 1.5, dash: QUIET_DASHES[s.look], stroke: plain };
  }
  switch (s.look) {
    case 'thin': return { ...line, width: 1, stroke: plain };
    case 'dashed': return { ...line, width: 2, dash: [6, 4], stroke: plain };
    case 'dots': return { ...line, paths: () => null, stroke: plain, points: { show: true, size: 8, width: 0, fill: plain } };
    // A bar of a histogram reaches from its place to the next.
    case 'area': return { ...line, width: 1.5, stroke: plain, fill: () => faint(s.colour), paths: uPlot.paths.stepped({ align: 1 }) };
    case 'steps': return { ...line, width: 2, stroke: plain, paths: uPlot.paths.stepped({ align: 1 }) };
    case 'faint': return { ...line, width: 1, stroke: () => faint(s.colour) };
    case 'broad': return { ...line, width: 7, stroke: () => faint(s.colour) };
    case 'layer': return { ...line, width: 1, stroke: () => colour('ground'), fill: plain };
    case 'points': return { ...line, paths: () => null, stroke: () => faint(s.colour),
      points: { show: true, size: 5, width: 0, fill: () => faint(s.colour) } };
    // A line of one value has no length; only a point shows it.
    default: return { ...line, width: 2, stroke: plain,
      points: { show: hasOneValue(s), size: 8, fill: plain } };
  }
}

function hasOneValue(s) {
  return Boolean(s.values) && s.values.filter(isNumber).length < 2;
}
