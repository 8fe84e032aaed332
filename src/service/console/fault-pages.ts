import { OptionError } from '../../errors.js';
import { changeClock } from '../change-clock.js';
import type { Fault, PlantedFault } from '../http/fault-kinds.js';
import { isFaultKind } from '../http/fault-table.js';
import { HttpProblem } from '../http/http-problem.js';
import { clockForms } from './clock-forms.js';
import type {
  ConsolePage,
  ConsoleParts,
  FormRedirect,
  PageContent,
  PageRequest,
} from './console-page.js';
import { type FaultForm, faultForm, faultOf } from './fault-form.js';
import { type Html, html } from './html/html.js';
import { countOf, csrfField, table } from './html/page-parts.js';

const HERE = '/console/faults';
/** Milliseconds of real time that an answer waits for what is due by the clock once it was moved. */
const PATIENCE_MS = 2_000;

/** The clock, and what goes wrong on purpose; to change where the control path is on. */
export function faultPages({ context }: ConsoleParts): readonly ConsolePage[] {
  const { clock, faults, settings, settled } = context;

  const shown = (
    { csrf, incoming: { url } }: PageRequest,
    { clockProblem, ...form }: Partial<FaultForm> & { clockProblem?: string } = {},
  ): PageContent => {
    const wanted = url.searchParams.get('kind');
    const kind: Fault['kind'] = isFaultKind(wanted) ? wanted : 'status';
    const isWrong = form.problem !== undefined || clockProblem !== undefined;
    const planted = faults.list();
    return {
      title: 'Clock and faults',
      status: isWrong ? 422 : 200,
      lead: settings.control
        ? html`The service has a time of its own, and can be made to fail. Programs do the same at <code>/_control/clock</code> and <code>/_control/faults</code>.`
        : html`To look at only: this service was started with its control switched off.`,
      body: html`<section class="card" aria-labelledby="clock"><h2 id="clock">Clock</h2>
${clockForms({ clock, csrf, isReadOnly: !settings.control, problem: clockProblem })}</section>
<section class="card" aria-labelledby="planted"><header><h2 id="planted">Planted faults</h2>
${settings.control && planted.length > 1 && clearForm(csrf, undefined)}</header>
${planted.length === 0 ? html`<p class="empty">None. Everything answers as it should.</p>` : plantedTable(planted, settings.control ? csrf : undefined)}</section>
${settings.control && html`<section class="card" aria-labelledby="plant"><h2 id="plant">Plant a fault</h2>${faultForm({ kind, csrf, ...form })}</section>`}`,
    };
  };

  const plant = (visit: PageRequest, form: URLSearchParams): FormRedirect | PageContent => {
    const kind = visit.incoming.url.searchParams.get('kind');
    if (!isFaultKind(kind)) throw new HttpProblem(400, 'There is no such kind of fault.');
    try {
      faults.plant(faultOf(kind, form) as unknown as Fault);
    } catch (error) {
      if (!(error instanceof OptionError)) throw error;
      const problem = { field: error.option.replace(/^fault\./, ''), message: error.message };
      return shown(visit, { given: form, problem });
    }
    return { location: HERE, notice: `Planted: ${kind}.` };
  };

  const clear = (form: URLSearchParams): FormRedirect => {
    const id = form.get('id');
    const cleared = faults.clear(id === null ? undefined : Number(id));
    return {
      location: HERE,
      notice: cleared === 0 ? 'It was gone already.' : `Cleared ${countOf(cleared, 'fault')}.`,
    };
  };

  const move = async (
    visit: PageRequest,
    form: URLSearchParams,
  ): Promise<FormRedirect | PageContent> => {
    const action = form.get('action');
    try {
      if (action === 'reset') clock.reset();
      else if (action === 'freeze') changeClock(clock, { frozen: true });
      else if (action === 'resume') changeClock(clock, { frozen: false });
      else if (action === 'set') changeClock(clock, { set: (form.get('set') ?? '').trim() });
      else changeClock(clock, { advance: form.get('span') ?? (form.get('advance') ?? '').trim() });
    } catch (error) {
      if (!(error instanceof HttpProblem)) throw error;
      return shown(visit, { clockProblem: error.message });
    }
    await settled(PATIENCE_MS);
    return { location: HERE, notice: 'The clock has changed.' };
  };

  return [
    {
      pattern: HERE,
      section: 'faults',
      show: visit => shown(visit),
      act(visit, form) {
        if (!settings.control)
          throw new HttpProblem(403, 'The control of this service is switched off.');
        const action = form.get('action');
        if (action === 'plant') return plant(visit, form);
        return action === 'clear' ? clear(form) : move(visit, form);
      },
    },
  ];
}

function plantedTable(planted: readonly PlantedFault[], csrf: string | undefined): Html {
  return table(
    countOf(planted.length, 'fault'),
    [
      { label: 'Kind', isHeader: true, cell: ({ kind }) => kind },
      { label: 'Where', cell: whereOf },
      { label: 'What', cell: whatOf },
      {
        label: 'Times',
        cell: ({ times = 1, hits }) =>
          `${times === 'always' ? 'always' : `${countOf(times, 'time')} in all`}; met ${countOf(hits, 'time')}`,
      },
      ...(csrf === undefined
        ? []
        : [{ label: 'Change', cell: ({ id }: PlantedFault) => clearForm(csrf, id) }]),
    ],
    planted,
  );
}

/** What a fault is aimed at. */
export function whereOf(fault: PlantedFault): string {
  const aims = [
    'endpoint' in fault && fault.endpoint,
    'path' in fault && fault.path !== undefined && `“${fault.path}”`,
    'title' in fault && fault.title !== undefined && `job “${fault.title}”`,
  ].filter(Boolean);
  return aims.length > 0 ? aims.join(', ') : 'anywhere';
}

const AIM = new Set(['id', 'kind', 'hits', 'times', 'endpoint', 'path', 'title']);

export function whatOf(fault: PlantedFault): string {
  return Object.entries(fault)
    .filter(([name, value]) => !AIM.has(name) && value !== undefined)
    .map(([name, value]) => `${name} ${Array.isArray(value) ? value.join(' ') : String(value)}`)
    .join(', ');
}

function clearForm(csrf: string, id: number | undefined): Html {
  return html`<form method="post" action="${HERE}">${csrfField(csrf)}${id !== undefined && html`<input type="hidden" name="id" value="${id}">`}<button class="plain" name="action" value="clear">${id === undefined ? 'Clear all' : html`Clear<span class="unseen"> fault ${id}</span>`}</button></form>`;
}
