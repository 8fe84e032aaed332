import type { Fault } from '../http/fault-kinds.js';
import { FAULT_TABLE, type FaultField, faultFields } from '../http/fault-table.js';
import { type Html, html } from './html/html.js';
import { choices, csrfField, messageBox } from './html/page-parts.js';

export interface FaultForm {
  readonly kind: Fault['kind'];
  readonly csrf: string;
  /** What was typed, if it was refused, and why. */
  readonly given?: URLSearchParams | undefined;
  readonly problem?: { readonly field: string; readonly message: string } | undefined;
}

/** The form that plants a fault of one kind. */
export function faultForm({ kind, csrf, given, problem }: FaultForm): Html {
  const { effect } = FAULT_TABLE[kind];
  const fields = faultFields(kind);
  const box = problem && messageBox({ tone: 'bad', text: problem.message }, 'problem');
  const boxOf = (name: string) => (name === problem?.field ? box : undefined);
  return html`${choices(
    'Kind of fault',
    Object.keys(FAULT_TABLE).map(name => ({
      name,
      address: `/console/faults?kind=${name}#plant`,
      isCurrent: name === kind,
    })),
  )}
<p>${effect}</p>
<form method="post" action="/console/faults?kind=${kind}">${csrfField(csrf)}
<div class="fields">${Object.entries(fields).map(([name, field]) => fieldOf(name, field, given, boxOf(name)))}</div>
<div class="row"><button class="main" name="action" value="plant">Plant the fault</button></div>
${problem !== undefined && !Object.hasOwn(fields, problem.field) && box}
</form>`;
}

function fieldOf(
  name: string,
  { meaning, hint, isRequired, input }: FaultField,
  given: URLSearchParams | undefined,
  /** Why the value was refused. */
  box: Html | undefined,
): Html {
  const isWrong = box !== undefined;
  const id = `fault-${name}`;
  const value = given?.get(name) ?? '';
  const describedBy = [hint !== undefined && `${id}-hint`, isWrong && 'problem']
    .filter(Boolean)
    .join(' ');
  const common = html` id="${id}" name="${name}"${isRequired && html` required`}${isWrong && html` aria-invalid="true" autofocus`}${
    describedBy !== '' && html` aria-describedby="${describedBy}"`
  }`;
  if (input.kind === 'check')
    return html`<div class="check"><input type="checkbox" value="yes"${common}${value !== '' && html` checked`}><label for="${id}">${meaning}</label></div>${box}`;
  return html`<div class="field"><label for="${id}">${meaning}${!isRequired && html` <span class="hint">optional</span>`}</label>
${controlOf(input, common, value, isRequired)}
${hint !== undefined && html`<span class="hint" id="${id}-hint">${hint}</span>`}${box}</div>`;
}

function controlOf(
  input: FaultField['input'],
  common: Html,
  value: string,
  isRequired: boolean,
): Html {
  if (input.kind === 'choice')
    return html`<select${common}>${!isRequired && html`<option value="">any or usual</option>`}${input.values.map(
      one => html`<option${one === value && html` selected`}>${one}</option>`,
    )}</select>`;
  if (input.kind === 'number') {
    const { min, max } = input;
    return html`<input type="number" step="1"${common} value="${value}"${min !== undefined && html` min="${min}"`}${
      max !== undefined && html` max="${max}"`
    }>`;
  }
  return html`<input type="text" autocomplete="off" spellcheck="false"${common} value="${value}">`;
}

/** The fault that a form describes; empty fields are left out. `plant` checks it. */
export function faultOf(kind: Fault['kind'], form: URLSearchParams): Record<string, unknown> {
  const fault: Record<string, unknown> = { kind };
  for (const [name, { input }] of Object.entries(faultFields(kind))) {
    const given = (form.get(name) ?? '').trim();
    if (given === '') continue;
    if (input.kind === 'check') fault[name] = true;
    else if (input.kind === 'minutes') fault[name] = given.split(/[\s,]+/);
    else if (input.kind === 'number' || (name === 'times' && given !== 'always'))
      // Text that is not a number stays text, so that the check names it.
      fault[name] = Number.isNaN(Number(given)) ? given : Number(given);
    else fault[name] = given;
  }
  return fault;
}
