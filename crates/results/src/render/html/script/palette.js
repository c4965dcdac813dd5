// Colors live in the style sheet (after Okabe and Ito, distinct for color-blind readers);
// charts ask for them whenever they draw, so that they follow the page into the dark.

const darkQuery = window.matchMedia('(prefers-color-scheme: dark)');
const paintCache = new Map();
const repaint = new Set();

function colour(name) {
  if (!paintCache.has(name)) {
    paintCache.set(name, getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim());
  }
  return paintCache.get(name);
}

function faint(name) {
  return colour(name) + (colour('faint') || '55');
}

function repaintAll() {
  paintCache.clear();
  repaint.forEach((draw) => draw());
}

darkQuery.addEventListener('change', repaintAll);

// Paper is white: the style sheet leaves the dark while this class is set.
window.addEventListener('beforeprint', () => {
  document.documentElement.classList.add('printing');
  repaintAll();
});
window.addEventListener('afterprint', () => {
  document.documentElement.classList.remove('printing');
  repaintAll();
});
