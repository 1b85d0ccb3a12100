/**
 * What somebody is asked, as fields of a form.
 *
 * Fields have no names, so that no browser offers to remember or to send them.
 */

import { Records } from './src/records.js';
import { Sensing } from './src/sensing.js';
import { fill, make, say, written } from './texts.js';

/**
 * Nodes of a form, and what they say: an answer, or what is wrong.
 * @typedef {{ nodes: Node[], read: () => { answer?: Record<string, unknown>, wrong?: string } }} Fields
 */

/** @typedef {import('./src/campaign.js').Campaign} Campaign */

const MANY = 20; // objects from which there is a field to find one

let count = 0;

/** A label with a field below it. @param {string} text @param {HTMLElement} field @param {string} [hint] */
function labelled(text, field, hint) {
  count += 1;
  field.id = `field-${count}`;
  const parts = [make('label', { for: field.id }, text)];
  if (hint) {
    const below = make('p', { class: 'hint', id: `hint-${count}` }, hint);
    field.setAttribute('aria-describedby', below.id);
    parts.push(/** @type {any} */ (below));
  }
  return make('div', { class: 'field' }, ...parts, field);
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
    const [low, high] = kind.ranges[/** @type {number} */ (kind.objects.codes.get(name))];
    const range = fill('range', { low: written(low), high: written(high) });
    const field = make('input', { type: 'number', step: 'any', min: String(low), max: String(high), inputmode: 'decimal' });
    const slider = make('input', {
      ...{ type: 'range', min: String(low), max: String(high), step: String((high - low) / 1000) },
      ...{ 'aria-label': fill('slider', { name, range }), class: 'unset', 'aria-valuetext': say('none') ?? '' },
    });
    const follow = () => {
      const unset = field.value === '';
      slider.classList.toggle('unset', unset); // in the middle, but no answer
      slider.setAttribute('aria-valuetext', unset ? (say('none') ?? '') : written(field.valueAsNumber));
      clear.hidden = unset;
    };
    const clear = make('button', { type: 'button', class: 'quiet small', hidden: '' }, say('clear') ?? '');
    clear.setAttribute('aria-label', fill('clear-of', { name }));
    clear.addEventListener('click', () => {
      field.value = '';
      follow();
      field.focus();
    });
    slider.addEventListener('input', () => {
      field.value = String(Number(Number(slider.value).toPrecision(4)));
      follow();
    });
    field.addEventListener('input', () => {
      if (field.value !== '') slider.value = field.value;
      follow();
    });
    const node = labelled(unit ? fill('unit', { name, unit }) : name, field, range);
    node.append(slider, clear);
    return { name, field, node };
  });
  const read = () => {
    /** @type {Record<string, number>} */
    const answer = {};
    for (const { name, field } of fields) {
      const bad = field.validity.badInput;
      field.setAttribute('aria-invalid', String(bad));
      if (bad) {
        field.focus();
        return { wrong: say('number') };
      }
      if (field.value.trim() !== '') answer[name] = field.valueAsNumber;
    }
    return Object.keys(answer).length ? { answer } : { wrong: say('empty') };
  };
  return { nodes: fields.map(({ node }) => node), read };
}

/** A field to choose from. @param {[string, string][]} options values and texts @param {string} first */
function choice(options, first) {
  const select = make('select', {}, make('option', { value: '' }, first));
  for (const [value, text] of options) select.append(make('option', { value }, text));
  return select;
}

/** @param {import('./src/sparse.js').Sparse} kind @returns {Fields} */
function cells(kind) {
  const { low, high } = kind.mechanism.scale;
  /** @type {[string, string][]} */
  const levels = Array.from({ length: high - low + 1 }, (_, at) => [String(low + at), written(low + at)]);
  const fields = kind.objects.listed.map(({ name }) => {
    const field = choice(levels, say('none') ?? '');
    return { name, field, node: labelled(name, field) };
  });
  const read = () => {
    const answered = fields.filter(({ field }) => field.value !== '');
    return { answer: Object.fromEntries(answered.map(({ name, field }) => [name, Number(field.value)])) };
  };
  const nodes = fields.map(({ node }) => node);
  if (fields.length < MANY) return { nodes, read };
  const find = make('input', { type: 'search' });
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
    const numeric = column.edges !== undefined;
    /** @type {[string, string][]} */
    const options = column.present.map((label) => [label, label]);
    const field = numeric
      ? make('input', { type: 'number', step: 'any', inputmode: 'decimal' })
      : choice(options, (column.missing ? say('missing') : say('choose')) ?? '');
    const hint = column.edges && fill('range', { low: written(column.edges[0]), high: written(column.edges.at(-1) ?? 0) });
    return { column, field, node: labelled(column.name, field, hint) };
  });
  const read = () => {
    /** @type {Record<string, unknown>} */
    const answer = {};
    for (const { column, field } of fields) {
      const bad = field.validity.badInput || (field.value.trim() === '' && !column.missing);
      field.setAttribute('aria-invalid', String(bad));
      if (bad) {
        field.focus();
        return { wrong: say('unanswered') };
      }
      answer[column.name] = field.value.trim() === '' ? null : field.value;
    }
    return { answer };
  };
  return { nodes: [make('p', { class: 'note' }, fill('question', { columns })), ...fields.map(({ node }) => node)], read };
}
