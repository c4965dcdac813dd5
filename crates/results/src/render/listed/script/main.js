// Reads the list, and again when the reader comes back: not by a clock, which would take time from what is measured
// on this machine meanwhile.

let listing = { entries: [], strangers: 0, stranger_names: [] };
let filter = filterOfAddress();
let page = 0;

function drawRows() {
  const found = listing.entries.filter((run) => wanted(run, filter));
  page = Math.max(0, Math.min(page, Math.ceil(found.length / ROWS) - 1));
  const from = page * ROWS;
  const rows = found.slice(from, from + ROWS);
  document.getElementById('runs').replaceChildren(...(rows.length ? [runTable(rows)] : []),
    ...[pager(page, found.length, (to) => { page = to; drawRows(); scrollTo(0, 0); })].filter(Boolean));
  document.getElementById('found').textContent = foundText(from, rows.length, found.length);
  drawTicks();
}

function drawTicks() {
  document.getElementById('ticks').replaceChildren(...ticksFor(listing.entries, () => {
    ticked.clear();
    keepTicks();
    drawRows();
  }));
}

function foundText(from, shown, found) {
  const all = listing.entries.length;
  if (!all) return 'There are no runs here yet.';
  if (!found) return 'None of ' + count(all) + ' runs match.';
  const which = shown < found ? count(from + 1) + ' to ' + count(from + shown) + ' of ' : '';
  const of = found < all ? ', of ' + count(all) : '';
  const strangers = listing.strangers ? '; ' + count(listing.strangers) + ' other entries are no runs' : '';
  return which + count(found) + (found === 1 ? ' run' : ' runs') + of + strangers;
}

function changed(name, value) {
  filter[name] = value;
  page = 0;
  keepInAddress(filter);
  drawRows();
}

// Boxes that are in use stay as they are: the focus is in one of them.
function drawFilters() {
  const boxes = document.getElementById('filters');
  if (boxes.contains(document.activeElement)) return;
  boxes.replaceChildren(...filterBoxes(listing.entries, filter, changed),
    el('div', {}, el('button', { type: 'button', onclick: clearFilter }, 'Show all')));
}

function clearFilter() {
  FILTERS.forEach((name) => { filter[name] = ''; });
  document.activeElement.blur();
  keepInAddress(filter);
  page = 0;
  drawFilters();
  drawRows();
}

// Some browsers report the return twice.
let reading = false;

async function readRuns() {
  if (reading) return;
  reading = true;
  try {
    const answer = await fetch('runs.json', { cache: 'no-store' });
    if (!answer.ok) throw new Error(await answer.text());
    listing = await answer.json();
    drawFilters();
    drawRows();
  } catch (error) {
    document.getElementById('found').textContent = 'The runs could not be read: ' + error.message
      + '. Is netfathom view still running?';
  }
  reading = false;
  document.documentElement.dataset.drawn = 'yes';
}

document.addEventListener('visibilitychange', () => { if (!document.hidden) readRuns(); });
window.addEventListener('focus', readRuns);
window.addEventListener('hashchange', () => { filter = filterOfAddress(); drawFilters(); drawRows(); });
readRuns();
