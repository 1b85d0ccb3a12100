/** While an operator fills in a campaign: what it would promise, and the error to expect. */

import { needScript } from './page.js';

const AFTER = 350; // milliseconds without a key

const form = /** @type {HTMLFormElement} */ (document.getElementById('draft'));
const part = /** @type {HTMLElement} */ (document.getElementById('preview'));
const epsilon = /** @type {HTMLInputElement} */ (document.getElementById('epsilon'));
const slider = /** @type {HTMLInputElement} */ (document.getElementById('epsilon-slider'));
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
/** @type {AbortController | undefined} */
let asking;

async function preview() {
  asking?.abort();
  asking = new AbortController();
  const body = new URLSearchParams();
  new FormData(form).forEach((value, name) => body.append(name, String(value)));
  part.setAttribute('aria-busy', 'true');
  try {
    const answer = await fetch(form.dataset.preview ?? '', {
      ...{ method: 'POST', body, signal: asking.signal, headers: { Accept: 'text/html' }, redirect: 'error' },
    });
    if (answer.ok) part.innerHTML = await answer.text(); // from our own server, which escapes what others wrote
    else part.textContent = part.dataset.failed ?? '';
    part.setAttribute('aria-busy', 'false');
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return; // a later one is on its way
    part.textContent = part.dataset.failed ?? '';
    part.setAttribute('aria-busy', 'false');
  }
}

/** The slider is the logarithm of epsilon, so that small ones have room. */
function follow() {
  slider.value = String(Math.log10(Math.max(Number(epsilon.value.replace(',', '.')) || 1, 1e-9)));
  slider.setAttribute('aria-valuetext', epsilon.value);
}

needScript();
follow();
slider.addEventListener('input', () => {
  epsilon.value = String(Number((10 ** Number(slider.value)).toPrecision(2))).replace('.', form.dataset.point ?? '.');
  slider.setAttribute('aria-valuetext', epsilon.value);
});
epsilon.addEventListener('input', follow);
form.addEventListener('input', () => {
  clearTimeout(timer);
  asking?.abort();
  part.textContent = part.dataset.computing ?? ''; // what stood there was about other values
  timer = setTimeout(() => void preview(), AFTER);
});
if (form.querySelector('textarea')?.value) void preview();
