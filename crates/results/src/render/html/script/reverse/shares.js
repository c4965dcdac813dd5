// What the sender's processor did in each phase.

const SHARES = ['user', 'system', 'softirq', 'irq', 'steal', 'idle'];

function processorShares({ result }) {
  const variants = summedUp(result);
  if (!variants.length) return [note('No trial was finished.')];
  return [colourKey(SHARES.map((name) => [name, 'cpu-' + name])), columnsOf(variants.map(sharesOf)),
    note('Parts of the time, from /proc/stat, mean of the trials. Waited: the part in which the sender was ready but did not run.')];
}

function sharesOf({ variant, summary }) {
  return el('div', { class: 'shares' }, subtitle(variantName(variant)),
    el('ol', {}, PHASES.map((phase, i) => sharesRow(phase, summary.processor[i], summary.sender_waited[i]))));
}

function sharesRow(phase, shares, waited) {
  const text = SHARES.map((name) => name + ' ' + percent(shares[name])).join(', ');
  const parts = SHARES.map((name) => {
    const part = el('span', {}, shares[name] >= 0.12 ? percent(shares[name]) : '');
    part.style.width = Math.max(0, shares[name]) * 100 + '%';
    part.style.setProperty('--c', 'var(--cpu-' + name + ')');
    return part;
  });
  return el('li', {}, el('span', { class: 'what' }, phase),
    el('span', { class: 'track', role: 'img', 'aria-label': text, title: text }, parts),
    el('span', { class: 'value' }, 'waited ' + percent(waited)));
}
