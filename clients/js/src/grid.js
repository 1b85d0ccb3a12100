/** The public grid that values are rounded to, so that noise can be exact: whole steps on whole steps. */

import { require } from './errors.js';

const STEPS_IN_RANGE = 1000;
const LARGEST_VALUE = 1e150;
const SHORTEST = 1e-100;
const NARROWEST = 1e-10; // relative to the larger end
const LARGEST_COUNT = 2 ** 40;
const DEVIATIONS = 50;

/**
 * Two ends of a public range, checked.
 * @param {unknown} ends
 * @returns {[number, number]}
 */
export function rangeOf(ends) {
  require(Array.isArray(ends) && ends.length === 2 && ends.every(Number.isFinite), 'a range is [low, high]');
  const [low, high] = ends;
  const largest = Math.max(Math.abs(low), Math.abs(high));
  require(largest <= LARGEST_VALUE && low < high, 'the range is empty or too large');
  require(high - low >= Math.max(SHORTEST, NARROWEST * largest), 'the range is too narrow for numbers of its size');
  return [low, high];
}

/** The nearest whole number, halves to the even one; never -0. @param {number} number */
export function roundHalfEven(number) {
  const floor = Math.floor(number);
  const rest = number - floor;
  if (rest < 0.5 || (rest === 0.5 && floor % 2 === 0)) return floor + 0;
  return floor + 1;
}

/** The places low, low + step, ..., low + steps step, which cover [low, high]. */
export class Grid {
  /**
   * @param {[number, number]} range
   * @param {unknown} [resolution] the step; by default a thousandth of the range
   */
  constructor([low, high], resolution) {
    const step = resolution === undefined ? (high - low) / STEPS_IN_RANGE : resolution;
    require(typeof step === 'number' && step > 0 && step < LARGEST_VALUE, 'resolution must be a number above 0');
    require((high - low) / step < LARGEST_COUNT, 'the resolution is too fine for this range');
    this.low = low;
    this.high = high;
    this.step = step;
    /** How far one value can move on the grid: its sensitivity. */
    this.steps = Math.max(1, Math.ceil((high - low) / step));
  }

  /**
   * The nearest place of a value, or of the end that it lies beyond; halves go to the even place.
   * @param {number} value finite
   * @returns {number} from 0 to `steps`
   */
  place(value) {
    const inside = Math.min(Math.max(value, this.low), this.high);
    const nearest = roundHalfEven((inside - this.low) / this.step);
    return Math.min(Math.max(nearest, 0), this.steps);
  }

  /** The value at a place, also beyond the ends. @param {number} place */
  value(place) {
    return this.low + this.step * place;
  }

  /** Refuses noise, of that standard deviation in steps, that could lead too far. @param {number} deviation */
  checkNoise(deviation) {
    const farthest = Math.max(Math.abs(this.low), Math.abs(this.high)) + DEVIATIONS * deviation * this.step;
    require(farthest <= LARGEST_VALUE, 'range and noise together go too far');
  }
}
