import { ENDPOINTS } from '../http/endpoints.js';
import type { Fault } from '../http/fault-kinds.js';

/** A field of a form. */
export interface FaultField {
  readonly name: string;
  readonly label: string;
  readonly hint?: string | undefined;
  readonly isNeeded?: boolean | undefined;
  readonly input:
    | { readonly kind: 'number'; readonly least?: number; readonly most?: number }
    | { readonly kind: 'text' }
    | { readonly kind: 'minutes' }
    | { readonly kind: 'check' }
    | { readonly kind: 'choice'; readonly values: readonly string[] };
}

interface FaultKind {
  /** What happens, in a few words. */
  readonly does: string;
  readonly fields: readonly FaultField[];
}

const number = (
  name: string,
  label: string,
  rest: Partial<FaultField> = {},
  { least = 0, most }: { least?: number; most?: number } = {},
): FaultField => ({
  name,
  label,
  input: { kind: 'number', least, ...(most === undefined ? {} : { most }) },
  ...rest,
});
const text = (name: string, label: string, hint?: string): FaultField => ({
  name,
  label,
  hint,
  input: { kind: 'text' },
});
const choice = (name: string, label: string, values: readonly string[]): FaultField => ({
  name,
  label,
  input: { kind: 'choice', values },
});
const signed = { kind: 'number' } as const;
const needed = { isNeeded: true };
const minutes: FaultField = {
  name: 'minutes',
  label: 'Minutes',
  hint: 'YYYYMMDDHHMM, with spaces between',
  isNeeded: true,
  input: { kind: 'minutes' },
};
const ends = ['reset', 'close', 'finish'];

const hits: readonly FaultField[] = [
  text('times', 'How often', 'A number, or “always”; 1 when empty'),
  number('skip', 'After how many that pass'),
];
const aim: readonly FaultField[] = [
  choice(
    'endpoint',
    'Family',
    ENDPOINTS.filter(name => name !== 'control'),
  ),
  text('path', 'Path or query contains'),
  ...hits,
];
const jobAim: readonly FaultField[] = [
  text('title', 'Title of the job', 'Any when empty'),
  ...hits,
];
const streamAim: readonly FaultField[] = [
  choice('endpoint', 'Stream', ['replay', 'compliance']),
  text('path', 'Path or query contains'),
  ...hits,
];

/** Every kind of fault, as its form has it. */
export const FAULT_KINDS: Readonly<Record<Fault['kind'], FaultKind>> = {
  status: {
    does: 'An error answer in place of the real one.',
    fields: [
      number('status', 'Status', needed, { least: 400, most: 599 }),
      text('message', 'Message'),
      number('retryAfter', 'Retry-After, seconds'),
      ...aim,
    ],
  },
  delay: {
    does: 'The answer comes late. Goes together with another fault.',
    fields: [number('ms', 'Milliseconds', needed), ...aim],
  },
  cut: {
    does: 'The body of an answer ends early.',
    fields: [
      number('afterBytes', 'After bytes on the wire', needed),
      choice('end', 'How the connection ends', ends),
      {
        name: 'inCharacter',
        label: 'Within a character, uncompressed',
        input: { kind: 'check' },
      },
      ...aim,
    ],
  },
  stall: {
    does: 'The body of an answer stops coming.',
    fields: [
      number('afterBytes', 'After bytes on the wire', needed),
      number('forMs', 'For milliseconds', { hint: 'For ever when empty' }),
      ...aim,
    ],
  },
  flip: {
    does: 'One bit of one byte of the body is wrong.',
    fields: [number('atByte', 'At byte', needed), ...aim],
  },
  'counts-timeout': {
    does: 'A page of counts times out after whole buckets.',
    fields: [number('buckets', 'Buckets', needed, { least: 1 }), ...aim],
  },
  'job-failure': {
    does: 'A job fails.',
    fields: [
      {
        ...choice('during', 'While it is in', ['estimating', 'running', 'validation']),
        isNeeded: true,
      },
      ...jobAim,
    ],
  },
  'suspect-minutes': {
    does: 'A job that completes has minutes whose data may be incomplete.',
    fields: [minutes, ...jobAim],
  },
  'wrong-totals': {
    does: 'Totals of a delivered job are off.',
    fields: [
      { name: 'urlCount', label: 'Files, off by', input: signed },
      { name: 'totalFileSizeBytes', label: 'Bytes, off by', input: signed },
      { name: 'activityCount', label: 'Activities, off by', input: signed },
      ...jobAim,
    ],
  },
  'content-cut': {
    does: 'A stream ends early, at a place in its messages.',
    fields: [
      number('afterMessages', 'After messages', needed),
      choice('within', 'Where in the next one', ['boundary', 'message', 'character']),
      choice('end', 'How the connection ends', ends),
      ...streamAim,
    ],
  },
  'wrong-count': {
    does: 'The count at the end of a replay is off.',
    fields: [{ name: 'by', label: 'Off by', isNeeded: true, input: signed }, ...streamAim],
  },
  'minutes-failed': {
    does: 'Minutes of a replay fail.',
    fields: [minutes, choice('deliver', 'Of them is delivered', ['none', 'part']), ...streamAim],
  },
  'unprocessed-range': {
    does: 'A replay fails to complete from a minute on.',
    fields: [
      { ...text('fromDate', 'From', 'YYYYMMDDHHMM'), isNeeded: true },
      choice('deliver', 'Of that minute is delivered', ['none', 'part']),
      ...streamAim,
    ],
  },
  flood: {
    does: 'More than a slow consumer can take.',
    fields: [
      number('minutes', 'Minutes of compliance events', { hint: '60 when empty' }, { least: 1 }),
      ...streamAim,
    ],
  },
};

/** The fault that a form describes; what was left empty is left out. Checked by whoever plants it. */
export function faultOf(kind: Fault['kind'], form: URLSearchParams): Record<string, unknown> {
  const fault: Record<string, unknown> = { kind };
  for (const { name, input } of FAULT_KINDS[kind].fields) {
    const given = (form.get(name) ?? '').trim();
    if (given === '') continue;
    if (input.kind === 'check') fault[name] = true;
    else if (input.kind === 'minutes') fault[name] = given.split(/[\s,]+/);
    else if (input.kind === 'number' || (name === 'times' && given !== 'always'))
      // Text that is no number stays what it is, for the check to name.
      fault[name] = Number.isNaN(Number(given)) ? given : Number(given);
    else fault[name] = given;
  }
  return fault;
}

export function isFaultKind(kind: string | null): kind is Fault['kind'] {
  return kind !== null && Object.hasOwn(FAULT_KINDS, kind);
}
