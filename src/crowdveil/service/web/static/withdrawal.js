/** Taking a report back: a button, a question, and what became of it; for good, in every tab. */

import { Refusal } from './src/client.js';
import { element, fill, say } from './texts.js';

/** @typedef {import('./src/client.js').Participation} Participation */

const TABS = 'crowdveil withdrawal';

/** Why nothing was withdrawn, in the reader's words; or that this is not known. @param {unknown} error @param {boolean} known */
function wordsOf(error, known) {
  if (!known) return say('withdrawing') ?? '';
  const code = error instanceof Refusal ? error.code : 'bug';
  if (code === 'closed') return say('withdraw-closed') ?? '';
  if (code === 'unknown-participant' || code === 'unknown-campaign') return say('withdraw-gone') ?? '';
  return fill('withdraw-failed', { code });
}

/** @param {boolean} asking whether the reader is asked to confirm */
function ask(asking) {
  element('confirm').hidden = !asking;
  element('withdraw').hidden = asking;
  element('withdraw-problem').hidden = true;
}

/**
 * Offers to withdraw as soon as a report has arrived, in whichever wave, and as long as nobody withdrew.
 * @param {Participation} participation
 * @param {string} state of the campaign, as it was when the page was loaded
 */
export async function offer(participation, state) {
  const possible = (await participation.reported()) && !(await participation.withdrew());
  element('withdrawal').hidden = !possible && !(await participation.withdrawing());
  if (state === 'closed') fail(say('withdraw-closed') ?? '', false);
}

/** @param {string} text @param {boolean} again whether it can be tried again */
function fail(text, again) {
  ask(false);
  element('withdraw').hidden = !again;
  element('withdraw-problem').textContent = text;
  element('withdraw-problem').hidden = false;
}

/**
 * Lets the buttons withdraw.
 * @param {Participation} participation
 * @param {() => void} done called when it is withdrawn, in this tab or in another one
 */
export function listen(participation, done) {
  const tabs = new BroadcastChannel(TABS);
  const look = async () => (await participation.withdrew()) && done();
  tabs.onmessage = () => void look();
  const yes = /** @type {HTMLButtonElement} */ (element('withdraw-yes'));
  element('withdraw').onclick = () => {
    ask(true);
    element('confirm').focus();
  };
  element('withdraw-no').onclick = () => {
    ask(false);
    element('withdraw').focus();
  };
  yes.onclick = async () => {
    yes.disabled = true;
    try {
      await participation.withdraw();
    } catch (error) {
      const known = !(await participation.withdrawing());
      return fail(wordsOf(error, known), !(error instanceof Refusal && error.code === 'closed'));
    } finally {
      yes.disabled = false;
    }
    tabs.postMessage('');
    done();
  };
}
