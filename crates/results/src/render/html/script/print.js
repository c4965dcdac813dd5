// On paper nothing can be opened or chosen: everything is, as long as it is printed.

const closedAgain = [];

// What is opened may hold more to open: the runs of an experiment do.
const MOST_LEVELS = 4;

function openAll() {
  for (let level = 0; level < MOST_LEVELS; level += 1) {
    const closed = [...document.querySelectorAll('details:not([open])')];
    const hidden = [...document.querySelectorAll('.chosen > [hidden]')];
    if (!closed.length && !hidden.length) return;
    document.querySelectorAll('.chosen').forEach((box) => fillings.has(box) && fillings.get(box)());
    hidden.forEach((panel) => { panel.hidden = false; closedAgain.push(() => { panel.hidden = true; }); });
    closed.forEach((box) => {
      if (fillings.has(box)) fillings.get(box)();
      box.open = true;
      closedAgain.push(() => { box.open = false; });
    });
  }
}

window.addEventListener('beforeprint', openAll);
window.addEventListener('afterprint', () => {
  while (closedAgain.length) closedAgain.pop()();
});
