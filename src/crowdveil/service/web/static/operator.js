/** Small helps on the pages of operators: numbers that keep up, copying, saving. Everything works without them. */

import { needScript } from './page.js';

const EVERY = 3_000; // milliseconds

/**
 * Puts in a part of the page anew, if it has changed and nobody is in it. Throws if there is no answer, or one that leads
 * to another page, as after a session has ended.
 * @param {HTMLElement} part
 */
async function refresh(part) {
  const answer = await fetch(part.dataset.refresh ?? '', { headers: { Accept: 'text/html' }, redirect: 'error' });
  if (!answer.ok) throw new Error(String(answer.status));
  const text = (await answer.text()).trim();
  if (part.dataset.last === undefined) part.dataset.last = part.innerHTML.trim();
  if (text === part.dataset.last || part.contains(document.activeElement)) return;
  part.dataset.last = text;
  const opened = [...part.querySelectorAll('details')].map((each) => each.open);
  part.innerHTML = text; // from our own server, which escapes what others wrote
  part.querySelectorAll('details').forEach((each, place) => (each.open = opened[place] ?? false));
}

/** @param {HTMLElement} part */
function keepUp(part) {
  const wanted = /** @type {HTMLInputElement | null} */ (document.getElementById('refreshing'));
  const stale = document.getElementById('stale');
  if (wanted === null || stale === null) return;
  const next = async () => {
    if (wanted.checked && document.visibilityState === 'visible') {
      stale.hidden = await refresh(part).then(
        () => true,
        () => false,
      );
    }
    setTimeout(next, EVERY);
  };
  setTimeout(next, EVERY);
}

/** @param {string | undefined} id @returns {HTMLInputElement | HTMLTextAreaElement} */
const field = (id) => /** @type {HTMLInputElement} */ (document.getElementById(id ?? ''));

/** @param {HTMLElement} button */
async function copy(button) {
  field(button.dataset.copy).select();
  await navigator.clipboard.writeText(field(button.dataset.copy).value).catch(() => document.execCommand('copy'));
  button.textContent = button.dataset.done ?? '';
}

/** @param {HTMLElement} button */
function save(button) {
  const content = new Blob([`${field(button.dataset.save).value}\n`], { type: 'text/plain' });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = button.dataset.name ?? 'file.txt';
  link.click();
  URL.revokeObjectURL(link.href);
}

/** @param {string} selector @returns {HTMLElement[]} */
const all = (selector) => [...document.querySelectorAll(selector)].map((node) => /** @type {HTMLElement} */ (node));

needScript();
for (const part of all('[data-refresh]')) keepUp(part);
for (const button of all('[data-copy]')) button.addEventListener('click', () => void copy(button));
for (const button of all('[data-save]')) button.addEventListener('click', () => save(button));
