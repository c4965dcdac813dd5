// The placements beside each other at one size, and what cannot be.

const PLACEMENT_COLOURS = { UU: 'rate', KU: 'rx', UK: 'tx', KK: 'call' };

function messagePlacements(context) {
  const { result, facts } = context;
  const spots = messageGroups(context).flatMap((p) => p.pairs.map((g) => ({ ...g, placement: p.name, words: p.words })));
  const sizes = messageSizes(result.cells);
  const parts = spots.length ? [] : [note('No trial was finished.')];
  if (spots.length) {
    const placed = facts.placements.filter(([name]) => spots.some((s) => s.placement === name));
    parts.push(colourKey(placed.map(([name, words]) => [name + ': ' + words, PLACEMENT_COLOURS[name]])),
      choice('size', sizes.map((bytes) => ({ name: sizeText(bytes), build: () => placementBars(facts, spots, bytes) }))));
  }
  parts.push(kernelEndsOf(facts), ...facts.stand_ins.map((text) => note(text + '.')));
  return [...parts, ...absentParts(result, facts)];
}

function kernelEndsOf(facts) {
  return facts.kernel_ends && note(capital(facts.kernel_ends) + '.');
}

function placementBars(facts, spots, bytes) {
  const cells = spots.flatMap((s) => s.cells.filter((c) => c.bytes === bytes).map((c) => ({ ...c, spot: s })));
  const quantity = messageQuantity(facts);
  const scale = logScale(cells.filter((c) => c.fact.figure).flatMap((c) => [c.fact.figure.value, bounds(c.fact.figure)[1]]));
  if (!scale) return note('No trial was finished with this size.');
  const bars = (layer) => cells.filter((c) => c.fact.layer === layer && c.fact.figure).map((c) => logBar({
    name: c.placement + ' on ' + c.spot.name.replace(/^processors? /, ''), title: c.spot.words + ', ' + c.spot.name, value: c.fact.figure.value,
    ends: tooWide(c.fact.figure) ? [scale.low, scale.high] : bounds(c.fact.figure), text: messageFigure(c.fact.figure, quantity.scale), paint: PLACEMENT_COLOURS[c.placement] }, scale));
  return el('div', { class: 'spots' }, el('ol', { class: 'bars' }, layersOf(facts, cells).map((layer) => el('li', {}, el('p', {}, el('b', {}, layer)), bars(layer)))),
    logRuler(scale, quantity.tick), note(capital(facts.quantity_name) + '. The scale is logarithmic and does not begin at zero. Whiskers are 95 % intervals between trials.'));
}

function absentParts(result, facts) {
  if (!result.absent.length) return [];
  const rows = result.absent.map((a, i) => ({ ...a, name: facts.absent[i] }));
  return [subtitle('What was asked for and cannot be'), table('What was asked for and cannot be', [
    { head: 'placement', text: true, cell: (a) => a.placement },
    { head: 'layer', text: true, cell: (a) => a.name },
    { head: 'why', text: true, wide: true, cell: (a) => a.why },
    { head: 'nearest to it', text: true, wide: true, cell: (a) => a.nearest || 'nothing' },
  ], rows)];
}
