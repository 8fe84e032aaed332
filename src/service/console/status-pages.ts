import { isJobFault, isStreamFault } from '../http/fault-fields.js';
import type { PlantedFault } from '../http/fault-types.js';
import type { Endpoint } from '../http/router.js';
import { clockFace } from './clock-forms.js';
import type { ConsolePage } from './console-page.js';
import { whatOf } from './fault-pages.js';
import { type Html, html } from './html/html.js';
import { printCount, renderState, type Tone } from './html/page-parts.js';
import { column, type HtmlColumn, table } from './html/table.js';

const FAMILIES: readonly (readonly [Endpoint, name: string])[] = [
  ['search', 'Search'],
  ['counts', 'Counts'],
  ['jobs', 'Historical jobs'],
  ['job-files', 'Files of jobs'],
  ['replay', 'Replay streams'],
  ['rules', 'Rules of the replay stream'],
  ['compliance', 'Compliance stream'],
  ['usage', 'Usage'],
  ['oauth', 'Sign-in of users'],
  ['engagement', 'Engagement totals'],
  ['pages', 'Console and status page'],
];

export const statusPages: readonly ConsolePage[] = [
  {
    pattern: '/status',
    section: 'status',
    isPublic: true,
    show({ context: { faults, clock } }) {
      const all = faults.list();
      const untargeted = all.filter(fault => targetsOf(fault) === undefined);
      const families = [
        ...(untargeted.length === 0 ? [] : [{ name: 'Any endpoint', own: untargeted, others: [] }]),
        ...FAMILIES.map(([endpoint, name]) => ({
          name,
          own: all.filter(fault => targetsOf(fault)?.includes(endpoint)),
          // A fault affects the pages of the console only if its `endpoint` is `pages`.
          others: endpoint === 'pages' ? [] : untargeted,
        })),
      ];
      return {
        title: 'Status',
        body: html`<div class="stack" id="status" data-live>${
          all.length === 0
            ? html`<p class="notice">Everything answers as it should.</p>`
            : html`<p class="alarm">${printCount(all.length, 'planted fault')}: something goes wrong on purpose.</p>`
        }
<section class="card" aria-labelledby="families"><h2 id="families">Endpoints</h2>${table('Each family of endpoints, and the faults that are planted for it', COLUMNS, families)}</section>
<section class="card" aria-labelledby="clock"><h2 id="clock">Clock</h2>${clockFace(clock)}</section></div>`,
      };
    },
  },
];

interface FamilyState {
  readonly name: string;
  readonly own: readonly PlantedFault[];
  /** Faults that can affect any endpoint. */
  readonly others: readonly PlantedFault[];
}

const COLUMNS: readonly HtmlColumn<FamilyState>[] = [
  column.header('Family', ({ name }) => name),
  column.beside('State', ({ own, others }) => stateOfFamily([...own, ...others])),
  column.text(
    'Planted faults',
    ({ own, others }) => [
      ...own.map(faultLine),
      others.length > 0 && html`<div class="quiet">as any endpoint</div>`,
    ],
    '',
  ),
];

/**
 * Returns the families of endpoints that a fault can affect. A fault names them, or its kind implies them.
 * Returns `undefined` if the fault can affect any request.
 */
function targetsOf(fault: PlantedFault): readonly Endpoint[] | undefined {
  if (isJobFault(fault)) return ['jobs'];
  if ('endpoint' in fault && fault.endpoint !== undefined) return [fault.endpoint];
  if (fault.kind === 'content-cut' || fault.kind === 'flood') return ['replay', 'compliance'];
  if (isStreamFault(fault)) return ['replay'];
  return fault.kind === 'counts-timeout' ? ['counts'] : undefined;
}

function stateOfFamily(planted: readonly PlantedFault[]): Html {
  if (planted.length === 0) return renderState('up', 'good');
  const isDown = planted.some(
    fault =>
      fault.kind === 'status' &&
      fault.times === 'always' &&
      fault.path === undefined &&
      (fault.skip ?? 0) === 0,
  );
  const tone: Tone = isDown ? 'bad' : 'warn';
  return renderState(isDown ? 'down' : 'faulty', tone);
}

function faultLine(fault: PlantedFault): Html {
  return html`<div><strong>${fault.kind}</strong> ${whatOf(fault)}${aimOf(fault)}</div>`;
}

function aimOf(fault: PlantedFault): string {
  if ('path' in fault && fault.path !== undefined) return ` (addresses with “${fault.path}”)`;
  return 'title' in fault && fault.title !== undefined ? ` (job “${fault.title}”)` : '';
}
