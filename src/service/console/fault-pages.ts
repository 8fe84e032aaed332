import { OptionError } from '../../base/errors.js';
import { parseTimestamp, SECOND } from '../../base/time.js';
import { FAULT_TABLE, type FaultField, faultFields, isFaultKind } from '../http/fault-fields.js';
import type { Fault, PlantedFault } from '../http/fault-types.js';
import { HttpProblem } from '../http/http-problem.js';
import type { JobRunner } from '../jobs/job-runner.js';
import { clockFace, clockForms, type RefusedForm } from './clock-forms.js';
import {
  type ConsolePage,
  confirmation,
  done,
  type FormResult,
  isConfirmed,
  notDone,
  type PageContent,
  type Visit,
} from './console-page.js';
import { type Html, type HtmlValue, html, isolated } from './html/html.js';
import {
  choices,
  csrfField,
  inWords,
  messageBox,
  options,
  printCount,
  printDuration,
  printNumber,
  renderMinute,
} from './html/page-parts.js';
import { column, type HtmlColumn, listPage, newestFirstCaption } from './html/table.js';

const HERE = '/console/faults';
/** The number of faults on a page. It is smaller than on other pages, because this page also has forms. */
const PAGE_FAULTS = 5;
/**
 * After the clock was moved, the response waits until events that are now due have happened. This is the
 * maximum wait, in milliseconds of real time.
 */
const PATIENCE_MS = 2_000;

/** Visitors can change the clock and the faults unless the service runs with `--no-control`. */
export const faultPages: readonly ConsolePage[] = [
  {
    pattern: HERE,
    section: 'faults',
    show(visit, typed) {
      const refused = typed && { form: typed, field: '', message: '' };
      return shown(visit, { clock: refused, fault: refused });
    },
    act(visit, form) {
      if (!visit.context.settings.control)
        throw new HttpProblem(403, 'The control of this service is switched off.');
      const action = form.get('action');
      if (action === 'plant') return plant(visit, form);
      if (action === 'preset') return plantPreset(visit, form);
      return action === 'clear' ? clear(visit, form) : move(visit, form);
    },
  },
];

function shown(
  { context, csrf, url, messageAt }: Visit,
  refused: {
    readonly clock?: RefusedForm | undefined;
    readonly fault?: RefusedFaultForm | undefined;
  } = {},
): PageContent {
  const { clock, faults, settings } = context;
  const isReadOnly = !settings.control;
  const wanted = url.searchParams.get('kind');
  const kind: Fault['kind'] = isFaultKind(wanted) ? wanted : 'status';
  const planted = faults.list().toReversed();
  const { suffix, list } = listPage(url, planted, {
    caption: newestFirstCaption(planted, 'fault'),
    columns: faultColumns(isReadOnly ? undefined : csrf),
    pageRows: PAGE_FAULTS,
    idOf: ({ id }) => rowId(id),
    messageAt,
  });
  return {
    title: `Clock and faults${suffix}`,
    status: refused.fault || refused.clock ? 422 : 200,
    lead: isReadOnly
      ? 'To look at only: this service was started with its control switched off.'
      : html`Move the time of the service, and make it fail on purpose. Programs do the same at <code>/_control/clock</code> and <code>/_control/faults</code>.`,
    body: html`<section class="card" id="clock" aria-label="Clock"><h2>Clock</h2>
<div id="face" data-live>${clockFace(clock)}</div>${!isReadOnly && clockForms(clock, csrf, refused.clock)}${messageAt('clock')}</section>
<section class="card" id="planted" aria-label="Planted faults"><header><h2>Planted faults</h2>
${!isReadOnly && planted.length > 1 && clearForm(csrf, undefined)}</header>${messageAt('planted')}
${planted.length === 0 ? html`<p class="empty">None: everything answers as it should.${!isReadOnly && ' Plant one below.'}</p>` : list}</section>
${!isReadOnly && html`<section class="card" id="plant" aria-label="Plant a fault"><h2>Plant a fault</h2>${presetForm(csrf)}${faultForm(kind, csrf, refused.fault)}</section>`}`,
  };
}

const PRESETS: Readonly<Record<string, Fault>> = {
  '503 three times': { kind: 'status', status: 503, times: 3 },
  'Stream cut after 100 posts': { kind: 'content-cut', afterMessages: 100 },
  Silence: { kind: 'stall', afterBytes: 1_000 },
  'Slow from now on': { kind: 'delay', ms: 3_000, times: 'always' },
};

function presetForm(csrf: string): Html {
  const buttons = Object.keys(PRESETS).map(
    name => html`<button name="preset" value="${name}">${name}</button>`,
  );
  return html`<form method="post" action="${HERE}">${csrfField(csrf)}<input type="hidden" name="action" value="preset">
<div class="row">${buttons}</div><p class="hint">Each for any family: silence stops the next body after 1,000 bytes, slow adds 3 seconds to each response.</p></form>`;
}

function plantPreset({ context }: Visit, form: URLSearchParams): FormResult {
  const name = form.get('preset') ?? '';
  const preset = Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined;
  if (preset === undefined) throw new HttpProblem(400, 'There is no such fault.');
  return planted(context.faults.plant(preset));
}

function planted({ id }: PlantedFault): FormResult {
  return done(`${HERE}#${rowId(id)}`, 'The fault is planted.');
}

function plant(visit: Visit, form: URLSearchParams): FormResult {
  const kind = visit.url.searchParams.get('kind');
  if (!isFaultKind(kind)) throw new HttpProblem(400, 'There is no such kind of fault.');
  try {
    return planted(visit.context.faults.plant(faultOf(kind, form) as unknown as Fault));
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    const field = error.option.replace(/^fault\./, '');
    const message = inWords(error.message.replace(/^faults\.plant: `[^`]*` must/, 'Must'));
    return shown(visit, { fault: { form, field, message } });
  }
}

function clear({ context }: Visit, form: URLSearchParams): FormResult {
  const id = form.get('id');
  const cleared = context.faults.clear(id === null ? undefined : Number(id));
  return cleared === 0
    ? notDone(`${HERE}#planted`, 'This fault is no longer planted.')
    : done(`${HERE}#planted`, `${printCount(cleared, 'fault')} cleared.`);
}

const CLOCK_WORDS = {
  advance: 'Must be a time such as 30s, 31m, 2h or 15d.',
  set: 'Must be a time such as 202405151234 or 2024-05-15T12:34Z.',
};

async function move(visit: Visit, form: URLSearchParams): Promise<FormResult> {
  const { clock, settled } = visit.context;
  const action = form.get('action');
  try {
    if (action === 'freeze') clock.freeze();
    else if (action === 'resume') clock.resume();
    else {
      const target = action === 'reset' ? Date.now() : clock.target(changeOf(form));
      const expiring = await jobsThatExpire(visit, target);
      if (expiring.length > 0 && !isConfirmed(form)) return askToExpire(visit, form, expiring);
      if (action === 'reset') clock.reset();
      else clock.change(changeOf(form));
    }
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    const { message } = error;
    const words = CLOCK_WORDS[action === 'set' ? 'set' : 'advance'];
    return shown(visit, {
      clock: { form, message: message.startsWith('Expected') ? words : message },
    });
  }
  await settled(PATIENCE_MS);
  return done(`${HERE}#clock`, 'The clock has changed.');
}

function changeOf(form: URLSearchParams): Readonly<Record<string, unknown>> {
  return form.get('action') === 'set'
    ? { set: (form.get('set') ?? '').trim() }
    : { advance: form.get('span') ?? (form.get('advance') ?? '').trim() };
}

async function jobsThatExpire({ jobs }: Visit, target: number): Promise<readonly JobRunner[]> {
  await jobs.open();
  return jobs.jobs.list().filter(({ expired, expiresAt }) => !expired && expiresAt <= target);
}

function askToExpire(visit: Visit, form: URLSearchParams, jobs: readonly JobRunner[]): PageContent {
  return confirmation(visit, form, {
    title: 'Move the clock?',
    text: html`${printCount(jobs.length, 'job')} will expire for good, with rules and files: ${jobs
      .slice(0, 5)
      .map(({ job }, index) => [
        index > 0 && ', ',
        isolated(job.title),
      ])}${jobs.length > 5 && ' and others'}. Moving the clock back does not restore them.`,
    action: 'Move the clock',
  });
}

const rowId = (id: number): string => `fault-${id}`;

/** @param csrf The token for the forms; `undefined` if faults are only shown. */
function faultColumns(csrf: string | undefined): readonly HtmlColumn<PlantedFault>[] {
  return [
    column.header('Kind', ({ kind }) => html`<span class="word">${kind}</span>`),
    column.text('Hits', fault => html`<span class="word">${hitsOf(fault)}</span>`, ''),
    column.text('Where', whereOf, 'on'),
    column.text('What', whatOf, ''),
    ...(csrf === undefined
      ? []
      : [column.text<PlantedFault>('Change', ({ id }) => clearForm(csrf, id), '')]),
  ];
}

function hitsOf({ times = 1, hits }: PlantedFault): string {
  return times === 'always'
    ? `${printCount(hits, 'hit')}, until cleared`
    : `${printNumber(hits)} of ${printCount(times, 'hit')}`;
}

function whereOf(fault: PlantedFault): string {
  const aims = [
    'endpoint' in fault && fault.endpoint,
    'path' in fault && fault.path !== undefined && `“${fault.path}”`,
    'title' in fault && fault.title !== undefined && `job “${fault.title}”`,
  ].filter(Boolean);
  return aims.length > 0 ? aims.join(', ') : 'anywhere';
}

const AIM = new Set(['id', 'kind', 'hits', 'times', 'endpoint', 'path', 'title']);

export function whatOf(fault: PlantedFault): HtmlValue {
  return Object.entries(fault)
    .filter(([name, value]) => !AIM.has(name) && value !== undefined)
    .map(
      ([name, value], index) =>
        html`${index > 0 && ', '}<span class="quiet">${name}</span> ${shownValue(name, value)}`,
    );
}

function shownValue(name: string, value: unknown): HtmlValue {
  if (name === 'ms' || name === 'forMs') return printDuration(Number(value));
  if (name === 'retryAfter') return printDuration(Number(value) * SECOND);
  if (name === 'fromDate') return renderMinute(Number(parseTimestamp(String(value))));
  if (Array.isArray(value))
    return value.map((minute, index) => [
      index > 0 && ', ',
      renderMinute(Number(parseTimestamp(String(minute)))),
    ]);
  if (typeof value === 'number') return printNumber(value);
  return value === true ? 'yes' : String(value);
}

function clearForm(csrf: string, id: number | undefined): Html {
  return html`<form method="post" action="${HERE}">${csrfField(csrf)}${id !== undefined && html`<input type="hidden" name="id" value="${id}">`}<button class="plain" name="action" value="clear">${id === undefined ? 'Clear all' : html`Clear<span class="unseen"> fault ${id}</span>`}</button></form>`;
}

interface RefusedFaultForm extends RefusedForm {
  readonly field: string;
}

function faultForm(kind: Fault['kind'], csrf: string, refused?: RefusedFaultForm): Html {
  const { effect } = FAULT_TABLE[kind];
  const fields = faultFields(kind);
  const box = refused?.message && messageBox({ tone: 'bad', text: refused.message }, 'problem');
  const boxOf = (name: string) => (box && name === refused?.field ? box : undefined);
  return html`${choices('Kind of fault', Object.keys(FAULT_TABLE), kind, name => [
    name,
    `${HERE}?kind=${name}#plant`,
  ])}
<p>${effect}</p>
<form method="post" action="/console/faults?kind=${kind}">${csrfField(csrf)}
<div class="fields">${Object.entries(fields).map(([name, field]) => fieldOf(name, field, refused?.form.get(name) ?? '', boxOf(name)))}</div>
<div class="row"><button class="main" name="action" value="plant">Plant the fault</button></div>
${refused !== undefined && !Object.hasOwn(fields, refused.field) && box}
</form>`;
}

function fieldOf(name: string, field: FaultField, value: string, box: Html | undefined): Html {
  const { meaning, hint, isRequired, input } = field;
  const isWrong = box !== undefined;
  const id = `fault-${name}`;
  const describedBy = [hint !== undefined && `${id}-hint`, isWrong && 'problem']
    .filter(Boolean)
    .join(' ');
  const common = html` id="${id}" name="${name}"${isRequired && html` required`}${isWrong && html` aria-invalid="true" autofocus`}${
    describedBy !== '' && html` aria-describedby="${describedBy}"`
  }`;
  if (input.kind === 'check')
    return html`<div class="check"><input type="checkbox" value="yes"${common}${value !== '' && html` checked`}><label for="${id}">${meaning}</label></div>${box}`;
  return html`<div class="field"><label for="${id}">${meaning}${!isRequired && html` <span class="hint">optional</span>`}</label>
${controlOf(field, common, value)}
${hint !== undefined && html`<span class="hint" id="${id}-hint">${hint}</span>`}${box}</div>`;
}

function controlOf({ input, isRequired }: FaultField, common: Html, value: string): Html {
  if (input.kind === 'choice')
    return html`<select${common}>${!isRequired && html`<option value="">any or usual</option>`}${options(input.values, value)}</select>`;
  if (input.kind === 'number') {
    const { min, max } = input;
    return html`<input type="number" step="1"${common} value="${value}"${min !== undefined && html` min="${min}"`}${
      max !== undefined && html` max="${max}"`
    }>`;
  }
  return html`<input type="text" autocomplete="off" spellcheck="false"${common} value="${value}">`;
}

/**
 * Returns the fault that a form describes, without empty fields and without validation. `faults.plant`
 * validates it.
 */
function faultOf(kind: Fault['kind'], form: URLSearchParams): Record<string, unknown> {
  const fault: Record<string, unknown> = { kind };
  for (const [name, { input }] of Object.entries(faultFields(kind))) {
    const given = (form.get(name) ?? '').trim();
    if (given === '') continue;
    if (input.kind === 'check') fault[name] = true;
    else if (input.kind === 'minutes') fault[name] = given.split(/[\s,]+/);
    else if (input.kind === 'number' || (name === 'times' && given !== 'always'))
      // Text that is not a number stays text, so that the error message of the validation quotes it.
      fault[name] = Number.isNaN(Number(given)) ? given : Number(given);
    else fault[name] = given;
  }
  return fault;
}
