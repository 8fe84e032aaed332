import { SECOND } from '../../base/time.js';
import type { Clock } from '../clock.js';
import { type Html, type HtmlValue, html } from './html/html.js';
import {
  csrfField,
  instant,
  messageBox,
  printExactDuration,
  renderState,
} from './html/page-parts.js';

export interface RefusedForm {
  readonly form: URLSearchParams;
  readonly message: string;
}

const SPANS = {
  '1m': '1 minute',
  '31m': '31 minutes',
  '1h': '1 hour',
  '1d': '1 day',
  '5d': '5 days',
  '15d': '15 days',
} as const;

export function clockFace(clock: Clock): Html {
  const aheadMs = clock.now() - Date.now();
  const offMs = Math.abs(aheadMs);
  return html`<p class="row"><span class="headline"${!clock.frozen && html` data-ticks`}>${instant(clock.now())}</span> ${
    clock.frozen ? renderState('frozen', 'warn') : renderState('running', 'good')
  }</p><p class="quiet">${offMs < 2 * SECOND ? 'Real time.' : `${printExactDuration(offMs)} ${aheadMs > 0 ? 'ahead of' : 'behind'} real time.`}</p>`;
}

export function clockForms(clock: Clock, csrf: string, problem: RefusedForm | undefined): Html {
  const box =
    problem?.message && messageBox({ tone: 'bad', text: problem.message }, 'clock-problem');
  const isTyped = (name: string) => problem?.form.has(name) === true;
  const isWrong = (name: string) => Boolean(box) && isTyped(name);
  const form = (content: HtmlValue) =>
    html`<form method="post" action="/console/faults">${csrfField(csrf)}${content}</form>`;
  const field = (name: string, label: string, action: string, hint: string) => {
    const typed =
      isTyped(name) &&
      html` value="${problem?.form.get(name)}"${isWrong(name) && html` aria-invalid="true" aria-describedby="clock-problem" autofocus`}`;
    return form(html`
<div class="field"><label for="${name}">${label}</label>
<div class="joined"><input id="${name}" name="${name}" type="text" autocomplete="off" required${typed}>
<button name="action" value="${name}">${action}</button></div>
<span class="hint">${hint}</span></div>${isWrong(name) && box}`);
  };
  const button = (action: string, label: string) =>
    html`<button class="plain" name="action" value="${action}">${label}</button>`;
  const spans = Object.entries(SPANS).map(
    ([span, label]) => html`<button class="plain" name="span" value="${span}">${label}</button>`,
  );
  return html`${form(html`
<fieldset><legend>Move on by</legend><div class="row tight">${spans}</div></fieldset>`)}
<div class="fields">
${field('advance', 'Move by', 'Move', '30s, 31m, 2h, 15d; back with a minus: -2h')}
${field('set', 'Set to', 'Set', '202405151234, or ISO 8601; in UTC')}
</div>${!isWrong('advance') && !isWrong('set') && box}
<p class="hint">Jobs that expire by then are gone for good.</p>
${form(html`<div class="row tight">
${clock.frozen ? button('resume', 'Let the clock run') : button('freeze', 'Stop the clock')}
${button('reset', 'Back to real time')}</div>`)}`;
}
