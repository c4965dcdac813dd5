// What stands on a chart beside its curves.

// Stretches of the x axis: shaded under everything else, named above the grid.
function drawBands(u, bands) {
  within(u, () => {
    for (const band of bands.filter((b) => b.shaded)) {
      const from = u.valToPos(band.from, 'x', true);
      u.ctx.fillStyle = colour('band');
      u.ctx.fillRect(from, u.bbox.top, u.valToPos(band.to, 'x', true) - from, u.bbox.height);
    }
  });
}

function nameBands(u, bands) {
  within(u, () => {
    u.ctx.font = FONT.replace('11px', 11 * devicePixelRatio + 'px');
    u.ctx.textBaseline = 'top';
    u.ctx.textAlign = 'center';
    u.ctx.fillStyle = colour('muted');
    for (const band of bands) {
      const middle = u.valToPos((band.from + band.to) / 2, 'x', true);
      u.ctx.fillText(band.label, middle, u.bbox.top + 3 * devicePixelRatio);
    }
  });
}

// Draws on a chart without reaching further out of its plot than by `more` pixels.
function within(u, paint, more = 0) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left - more, bbox.top - more, bbox.width + 2 * more, bbox.height + 2 * more);
  ctx.clip();
  paint();
  ctx.restore();
}

// A line across the plot at one value.
function drawLevelLine(u, value) {
  within(u, () => {
    const y = u.valToPos(value, 'y', true);
    u.ctx.strokeStyle = colour('ink');
    u.ctx.lineWidth = devicePixelRatio;
    u.ctx.setLineDash([]);
    u.ctx.beginPath();
    u.ctx.moveTo(u.bbox.left, y);
    u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
    u.ctx.stroke();
  });
}
