/**
 * What somebody is asked, as fields of a form.
 *
 * Fields have no names, so that no browser offers to remember or to send them.
 */

import { Records } from './src/records.js';
import { Sensing } from './src/sensing.js';
import { fill, inSteps, make, point, say, written } from './texts.js';

/**
 * Nodes of a form, and what they say: an answer, or what is wrong.
 * @typedef {{ nodes: Node[], read: () => { answer?: Record<string, unknown>, wrong?: string } }} Fields
 */

/** @typedef {import('./src/campaign.js').Campaign} Campaign */

const MANY = 20; // objects from which there is a field to find one
const STEPS = 1000; // of a slider
const SOON = '600px'; // how far below the screen fields get their choices

let count = 0;

/** A label with a field below it. @param {string} text @param {HTMLElement} field @param {...HTMLElement} hints */
function labelled(text, field, ...hints) {
  count += 1;
  field.id = `field-${count}`;
  hints.forEach((hint, at) => (hint.id = `hint-${count}-${at}`));
  if (hints.length) field.setAttribute('aria-describedby', hints.map(({ id }) => id).join(' '));
  return make('div', { class: 'field' }, make('label', { for: field.id }, text), ...hints, field);
}

/**
 * A number between two ends: a field, and hints that name the ends and, for a number beyond them, what is used.
 * @param {number} low
 * @param {number} high
 */
function bounded(low, high) {
  const range = fill('range', { low: written(low), high: written(high) });
  const field = make('input', { type: 'text', inputmode: 'decimal' }); // a number field drops commas, or reads 5,5 as 55
  const beyond = make('p', { class: 'hint', role: 'status' });
  const follow = () => {
    const value = numberIn(field); // NaN as long as there is none
    const end = value < low ? low : value > high ? high : undefined;
    beyond.textContent = end === undefined ? '' : fill('beyond', { range, end: written(end) });
  };
  field.addEventListener('input', follow);
  return { field, range, hints: [make('p', { class: 'hint' }, range), beyond], follow };
}

/** The number that somebody wrote, with a decimal point or a comma; NaN if it is none. @param {HTMLInputElement} field */
function numberIn(field) {
  const text = field.value.trim().replace('\u2212', '-');
  const value = /^[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text.replace(',', '.')) : NaN;
  return Number.isFinite(value) ? value : NaN;
}

/** Whether what stands in a field is no number. @param {HTMLInputElement | HTMLSelectElement} field */
const isBad = (field) => field instanceof HTMLInputElement && field.value.trim() !== '' && Number.isNaN(numberIn(field));

/** The value at a place of a slider: its ends are those of the range. @param {number} at @param {number} low @param {number} high */
function valueAt(at, low, high) {
  if (at <= 0) return low;
  if (at >= STEPS) return high;
  const step = (high - low) / STEPS;
  return Math.min(Math.max(inSteps(low + at * step, step), low), high);
}

/**
 * The fields of a campaign.
 * @param {Campaign} campaign
 * @param {import('./src/kinds.js').Asked} asked
 * @returns {Fields}
 */
export function fieldsOf(campaign, asked) {
  const { kind } = campaign;
  if (kind instanceof Sensing) return numbers(kind);
  return kind instanceof Records ? questionnaire(kind, asked) : cells(kind);
}

/** @param {Sensing} kind @returns {Fields} */
function numbers(kind) {
  const fields = kind.objects.listed.map(({ name, unit }) => {
    const [low, high] = kind.rangeOf(name);
    const { field, range, hints, follow: checkEnds } = bounded(low, high);
    const slider = make('input', {
      ...{ type: 'range', min: '0', max: String(STEPS), step: '1' },
      ...{ 'aria-label': fill('slider', { name, range }), class: 'unset', 'aria-valuetext': say('none') ?? '' },
    });
    const follow = () => {
      const unset = field.value === '';
      slider.classList.toggle('unset', unset); // in the middle, but no answer
      slider.setAttribute('aria-valuetext', unset ? (say('none') ?? '') : written(numberIn(field)));
      clear.hidden = unset;
      checkEnds();
    };
    const clear = make('button', { type: 'button', class: 'quiet small', hidden: '' }, say('clear') ?? '');
    clear.setAttribute('aria-label', fill('clear-of', { name }));
    clear.addEventListener('click', () => {
      field.value = '';
      follow();
      field.focus();
    });
    slider.addEventListener('input', () => {
      field.value = String(valueAt(slider.valueAsNumber, low, high)).replace('.', point);
      follow();
    });
    field.addEventListener('input', () => {
      if (!Number.isNaN(numberIn(field))) slider.value = String(((numberIn(field) - low) / (high - low)) * STEPS);
      follow();
    });
    const node = labelled(unit ? fill('unit', { name, unit }) : name, field, ...hints);
    node.append(slider, clear);
    return { name, field, node };
  });
  const read = () => {
    /** @type {Record<string, number>} */
    const answer = {};
    for (const { name, field } of fields) {
      const bad = isBad(field);
      field.setAttribute('aria-invalid', String(bad));
      if (bad) {
        field.focus();
        return { wrong: say('number') };
      }
      if (field.value.trim() !== '') answer[name] = numberIn(field);
    }
    return Object.keys(answer).length ? { answer } : { wrong: say('empty') };
  };
  return { nodes: fields.map(({ node }) => node), read };
}

/** What somebody chooses from. @param {[string, string][]} options values and texts @param {string} first */
function choice(options, first) {
  return make('select', {}, make('option', { value: '' }, first), ...choices(options));
}

/** @param {[string, string][]} options values and texts */
const choices = (options) => options.map(([value, text]) => make('option', { value }, text));

/**
 * Gives fields their choices shortly before they are seen or used: millions at once would stop a browser.
 * @param {HTMLSelectElement[]} fields
 * @param {[string, string][]} options
 */
function chooseLater(fields, options) {
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) complete(/** @type {HTMLSelectElement} */ (target));
  }, { rootMargin: SOON });
  const complete = (/** @type {HTMLSelectElement} */ field) => {
    seen.unobserve(field);
    if (field.options.length === 1) field.append(...choices(options));
  };
  for (const field of fields) {
    seen.observe(field);
    for (const use of ['focus', 'pointerdown']) field.addEventListener(use, () => complete(field), { once: true });
  }
}

/** @param {import('./src/sparse.js').Sparse} kind @returns {Fields} */
function cells(kind) {
  const { low, high } = kind.mechanism.scale;
  /** @type {[string, string][]} */
  const levels = Array.from({ length: high - low + 1 }, (_, at) => [String(low + at), written(low + at)]);
  const fields = kind.objects.listed.map(({ name }) => {
    const field = choice([], say('none') ?? '');
    return { name, field, node: labelled(name, field) };
  });
  chooseLater(fields.map(({ field }) => field), levels);
  const read = () => {
    const answered = fields.filter(({ field }) => field.value !== '');
    return { answer: Object.fromEntries(answered.map(({ name, field }) => [name, Number(field.value)])) };
  };
  const nodes = fields.map(({ node }) => node);
  if (fields.length < MANY) return { nodes, read };
  const find = make('input', { type: 'search', spellcheck: 'false', autocomplete: 'off' });
  find.addEventListener('input', () => {
    const text = find.value.trim().toLowerCase();
    for (const { name, node } of fields) node.hidden = !name.toLowerCase().includes(text);
  });
  return { nodes: [labelled(say('filter') ?? '', find), ...nodes], read };
}

/** @param {Records} kind @param {import('./src/kinds.js').Asked} asked @returns {Fields} */
function questionnaire(kind, asked) {
  const question = kind.checkedQuestion(asked.question);
  const columns = question.columns.map((column) => kind.schema.columns[column].name).join(', ');
  const fields = kind.schema.columns.map((column) => {
    if (column.edges !== undefined) {
      const { field, hints } = bounded(column.edges[0], /** @type {number} */ (column.edges.at(-1)));
      return { column, field, node: labelled(column.name, field, ...hints) };
    }
    const field = choice(column.present.map((label) => [label, label]), (column.missing ? say('missing') : say('choose')) ?? '');
    return { column, field, node: labelled(column.name, field) };
  });
  const read = () => {
    /** @type {Record<string, unknown>} */
    const answer = {};
    for (const { column, field } of fields) {
      const bad = isBad(field) || (field.value.trim() === '' && !column.missing);
      field.setAttribute('aria-invalid', String(bad));
      if (bad) {
        field.focus();
        return { wrong: say('unanswered') };
      }
      const value = field instanceof HTMLInputElement ? String(numberIn(field)) : field.value;
      answer[column.name] = field.value.trim() === '' ? null : value;
    }
    return { answer };
  };
  return { nodes: [make('p', { class: 'note' }, fill('question', { columns })), ...fields.map(({ node }) => node)], read };
}
