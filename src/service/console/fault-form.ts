import type { Fault } from '../http/fault-kinds.js';
import { FAULT_KINDS, type FaultField } from './fault-fields.js';
import { type Html, html } from './html/html.js';
import { csrfField } from './html/page-parts.js';

export interface FaultForm {
  readonly kind: Fault['kind'];
  readonly csrf: string;
  /** What was given before, if that would not do, and why. */
  readonly given?: URLSearchParams | undefined;
  readonly problem?: { readonly field: string; readonly message: string } | undefined;
}

/** The form that plants a fault of one kind. */
export function faultForm({ kind, csrf, given, problem }: FaultForm): Html {
  const { does, fields } = FAULT_KINDS[kind];
  return html`<nav aria-label="Kind of fault"><ul class="pills">${Object.keys(FAULT_KINDS).map(
    name =>
      html`<li><a href="/console/faults?kind=${name}#plant"${name === kind && html` aria-current="page"`}>${name}</a></li>`,
  )}</ul></nav>
<p>${does}</p>
${problem !== undefined && html`<p class="alarm" role="alert" id="problem">${problem.message}</p>`}
<form method="post" action="/console/faults?kind=${kind}#plant">${csrfField(csrf)}
<div class="fields">${fields.map(field => fieldOf(field, given, problem?.field === field.name))}</div>
<div class="row"><button class="main" name="action" value="plant">Plant the fault</button></div>
</form>`;
}

function fieldOf(field: FaultField, given: URLSearchParams | undefined, isWrong: boolean): Html {
  const { name, label, hint, isNeeded, input } = field;
  const id = `fault-${name}`;
  const value = given?.get(name) ?? '';
  const describedBy = [hint !== undefined && `${id}-hint`, isWrong && 'problem']
    .filter(Boolean)
    .join(' ');
  const common = html` id="${id}" name="${name}"${isNeeded && html` required`}${isWrong && html` aria-invalid="true"`}${
    describedBy !== '' && html` aria-describedby="${describedBy}"`
  }`;
  if (input.kind === 'check')
    return html`<div class="check"><input type="checkbox" value="yes"${common}${value !== '' && html` checked`}><label for="${id}">${label}</label></div>`;
  return html`<div class="field"><label for="${id}">${label}${!isNeeded && html` <span class="hint">optional</span>`}</label>
${controlOf(input, common, value, isNeeded === true)}
${hint !== undefined && html`<span class="hint" id="${id}-hint">${hint}</span>`}</div>`;
}

function controlOf(
  input: FaultField['input'],
  common: Html,
  value: string,
  isNeeded: boolean,
): Html {
  if (input.kind === 'choice')
    return html`<select${common}>${!isNeeded && html`<option value="">any or usual</option>`}${input.values.map(
      one => html`<option${one === value && html` selected`}>${one}</option>`,
    )}</select>`;
  if (input.kind === 'number') {
    const { least, most } = input;
    return html`<input type="number" step="1"${common} value="${value}"${least !== undefined && html` min="${least}"`}${
      most !== undefined && html` max="${most}"`
    }>`;
  }
  return html`<input type="text" autocomplete="off" spellcheck="false"${common} value="${value}">`;
}
