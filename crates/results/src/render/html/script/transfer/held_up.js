// What held a transfer up: the cause, what makes us think so, what to do, and what else took time.

function causeColour(cause) {
  return 'cause-' + String(cause).replaceAll('_', '-');
}

function transferHeldUp({ result, facts }) {
  return [explained(result.explanation, facts.explained)];
}

// The share of a transfer that was too short to tell would be a number without a meaning.
function shareOf(cause, share) {
  return cause === 'too_short' ? '' : percent(share);
}

function explained(explanation, fact) {
  const { cause, share, said, evidence, remedy, others } = explanation;
  const head = el('p', { class: 'cause' }, el('b', {}, fact.cause), ' ',
    cause !== 'too_short' && el('span', {}, shareOf(cause, share) + ' of the time'));
  const box = el('div', { class: 'held' }, head, el('p', { class: 'said' }, said),
    evidence.length > 0 && el('div', {}, subtitle('What was seen'), el('ul', {}, evidence.map((text) => el('li', {}, text)))),
    el('div', { class: 'remedy' }, subtitle('What to do'), el('p', {}, remedy)));
  box.style.setProperty('--c', 'var(--' + causeColour(cause) + ')');
  const rows = [[cause, share], ...others].map(([name, part], i) => ({ name, part, text: i ? fact.others[i - 1] : fact.cause }));
  return [box, others.length > 0 && causeBars(rows)];
}

function causeBars(rows) {
  return el('div', { class: 'bars causes' }, subtitle('Where the time went'), rows.map(({ name, part, text }) => {
    const bar = spanned(el('span', { class: 'bar' }), 0, isNumber(part) ? part * 100 : 0);
    bar.style.setProperty('--c', 'var(--' + causeColour(name) + ')');
    return el('div', { class: 'bounded named' }, el('span', { class: 'what' }, text),
      el('span', { class: 'track' }, bar), el('span', { class: 'value' }, percent(part)));
  }));
}
