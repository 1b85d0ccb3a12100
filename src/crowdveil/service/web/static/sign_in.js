/** Signs in whoever comes with a name and a token behind the address: a browser never sends that part. */

export {};

const form = /** @type {HTMLFormElement} */ (document.getElementById('sign-in'));
const [, own, secret] = /^#([^:]+):(.+)$/.exec(location.hash) ?? [];

if (own !== undefined) {
  /** @param {string} id @param {string} value */
  const put = (id, value) => (/** @type {HTMLInputElement} */ (document.getElementById(id)).value = decodeURIComponent(value));
  put('name', own);
  put('secret', secret);
  history.replaceState(null, '', location.pathname + location.search); // the token does not stay in the address
  if (document.querySelector('[role="alert"]') === null) form.requestSubmit();
}
