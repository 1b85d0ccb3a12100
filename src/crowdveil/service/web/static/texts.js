/** The page's texts, in the reader's language, and its elements by name. */

/** @type {Record<string, string>} */
const texts = JSON.parse(document.getElementById('texts')?.textContent ?? '{}');

/** The text of that name, if there is one. @param {string} name @returns {string | undefined} */
export function say(name) {
  return Object.hasOwn(texts, name) ? texts[name] : undefined;
}

/** A text with values in their places. @param {string} name @param {Record<string, unknown>} values */
export function fill(name, values) {
  return (say(name) ?? name).replace(/\{(\w+)\}/g, (_, key) => String(values[key] ?? ''));
}

/** An element of the page. @param {string} id @returns {HTMLElement} */
export function element(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found;
}

/**
 * A new element.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} content
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(name, attributes = {}, ...content) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...content);
  return node;
}

const language = document.documentElement.lang;

/** A number as people write it. @param {number} value */
export function written(value) {
  return new Intl.NumberFormat(language, { maximumSignificantDigits: 6 }).format(value);
}
