/** What needs a script is hidden until there is one. */

export function needScript() {
  for (const node of document.querySelectorAll('.needs-script')) node.removeAttribute('hidden');
  for (const node of document.querySelectorAll('.without-script')) node.setAttribute('hidden', '');
}
