/**
 * In a demonstration, signs in whoever comes with a name and a token behind the address. On any other server that would
 * let another site sign somebody in as somebody else, so there it is taken out of the address and forgotten.
 */

export {};

const form = /** @type {HTMLFormElement} */ (document.getElementById('sign-in'));

function look() {
  const [, own, secret] = /^#([\w.-]+):([\w-]+)$/.exec(location.hash) ?? [];
  if (location.hash) history.replaceState(null, '', location.pathname + location.search); // no token stays in the address
  if (own === undefined || form.dataset.demo === undefined) return;
  /** @type {HTMLInputElement} */ (document.getElementById('name')).value = own;
  /** @type {HTMLInputElement} */ (document.getElementById('secret')).value = secret;
  form.requestSubmit();
}

window.addEventListener('hashchange', look);
look();
