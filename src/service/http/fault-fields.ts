import {
  checkOptions,
  checkValue,
  flag,
  milliseconds,
  type Option,
  type OptionTable,
  oneOf,
  required,
  special,
  text,
  whole,
} from '../../base/check.js';
import { parseTimestamp } from '../../base/time.js';
import type { Fault, JobFault, RequestFault, StreamFault } from './fault-types.js';
import { ENDPOINT_NAMES } from './router.js';

/** A field of a fault: how it is validated, and how a form shows it. The form shows `meaning` as its label. */
export type FaultField = Option<unknown> & FieldDisplay;

interface FieldDisplay {
  readonly input: FieldInput;
  readonly hint?: string | undefined;
}

type FieldInput =
  | { readonly kind: 'number'; readonly min?: number; readonly max?: number }
  | { readonly kind: 'text' | 'minutes' | 'check' }
  | { readonly kind: 'choice'; readonly values: readonly string[] };

function field<Described extends object>(described: Described, input: FieldInput, hint?: string) {
  return { ...described, input, hint };
}

interface Bounds {
  readonly min?: number;
  readonly max?: number;
  readonly hint?: string;
}

const number = (label: string, { hint, ...bounds }: Bounds = {}) =>
  field(whole(label, { min: 0, ...bounds }), { kind: 'number', min: 0, ...bounds }, hint);
const difference = (label: string) =>
  field(whole(label, { min: Number.MIN_SAFE_INTEGER }), { kind: 'number' });
const duration = (label: string, hint?: string) =>
  field(milliseconds(label, { min: 0 }), { kind: 'number', min: 0 }, hint);
const words = (label: string, hint?: string) => field(text(label), { kind: 'text' }, hint);
const choice = <const T extends string>(label: string, values: readonly T[]) =>
  field(oneOf<T>(label, values), { kind: 'choice', values });
const check = (label: string) => field(flag(label), { kind: 'check' });
const needed = <Field extends object>(field: Field) =>
  ({ ...field, isRequired: true }) as Omit<Field, 'isRequired'> & { readonly isRequired: true };

const isMinute = (value: unknown): boolean =>
  typeof value === 'string' && parseTimestamp(value) !== undefined;

const minutes = needed(
  field(
    special<readonly string[]>(
      'Minutes',
      'minutes as YYYYMMDDHHMM',
      value => Array.isArray(value) && value.length > 0 && value.every(isMinute),
    ),
    { kind: 'minutes' },
    'YYYYMMDDHHMM, with spaces between',
  ),
);

const hits = {
  times: field(
    special<number | 'always'>(
      'How often',
      "a whole number of at least 1, or 'always'",
      value => value === 'always' || (Number.isSafeInteger(value) && (value as number) > 0),
    ),
    { kind: 'text' },
    'A number, or “always”; 1 when empty',
  ),
  skip: number('After how many that pass'),
};
const aim = {
  endpoint: choice(
    'Family',
    ENDPOINT_NAMES.filter(name => name !== 'control'),
  ),
  path: words('Path or query contains'),
  ...hits,
};
const jobAim = { title: words('Title of the job', 'Any when empty'), ...hits };
const streamAim = {
  endpoint: choice('Stream', ['replay', 'compliance']),
  path: words('Path or query contains'),
  ...hits,
};
const ends = ['reset', 'close', 'finish'] as const;

type Fields<Kind extends Fault['kind']> = OptionTable<
  Omit<Extract<Fault, { readonly kind: Kind }>, 'kind'>
> &
  Readonly<Record<string, FieldDisplay>>;

type FaultTable = {
  readonly [Kind in Fault['kind']]: {
    readonly target: 'request' | 'job' | 'stream';
    readonly effect: string;
    readonly fields: Fields<Kind>;
  };
};

/** Every kind of fault. The validation of planted faults and the console's form use this table. */
export const FAULT_TABLE = {
  status: {
    target: 'request',
    effect: 'An error response instead of the real one.',
    fields: {
      status: needed(number('Status', { min: 400, max: 599 })),
      message: words('Message'),
      retryAfter: number('Retry-After, seconds'),
      ...aim,
    },
  },
  delay: {
    target: 'request',
    effect: 'The response comes late. Goes together with another fault.',
    fields: { ms: needed(duration('Milliseconds')), ...aim },
  },
  cut: {
    target: 'request',
    effect: 'The body of a response ends early.',
    fields: {
      afterBytes: needed(number('After bytes on the wire')),
      end: choice('How the connection ends', ends),
      inCharacter: check('Within a character, uncompressed'),
      ...aim,
    },
  },
  stall: {
    target: 'request',
    effect: 'The body of a response stops coming.',
    fields: {
      afterBytes: needed(number('After bytes on the wire')),
      forMs: duration('For milliseconds', 'Without end when empty'),
      ...aim,
    },
  },
  flip: {
    target: 'request',
    effect: 'One bit of one byte of the body is wrong.',
    fields: { atByte: needed(number('At byte')), ...aim },
  },
  'counts-timeout': {
    target: 'request',
    effect: 'A page of counts times out after whole buckets.',
    fields: { buckets: needed(number('Buckets', { min: 1 })), ...aim },
  },
  'job-failure': {
    target: 'job',
    effect: 'A job fails.',
    fields: {
      during: needed(choice('While it is in', ['estimating', 'running', 'validation'])),
      ...jobAim,
    },
  },
  'suspect-minutes': {
    target: 'job',
    effect: 'A job that completes has minutes whose data may be incomplete.',
    fields: { minutes, ...jobAim },
  },
  'wrong-totals': {
    target: 'job',
    effect: 'Totals of a delivered job are off.',
    fields: {
      urlCount: difference('Files, off by'),
      totalFileSizeBytes: difference('Bytes, off by'),
      activityCount: difference('Activities, off by'),
      ...jobAim,
    },
  },
  'content-cut': {
    target: 'stream',
    effect: 'A stream ends early, at a point in its messages.',
    fields: {
      afterMessages: needed(number('After messages')),
      within: choice('Where in the next one', ['boundary', 'message', 'character']),
      end: choice('How the connection ends', ends),
      ...streamAim,
    },
  },
  'wrong-count': {
    target: 'stream',
    effect: 'The count at the end of a replay is off.',
    fields: { by: needed(difference('Off by')), ...streamAim },
  },
  'minutes-failed': {
    target: 'stream',
    effect: 'Minutes of a replay fail.',
    fields: { minutes, deliver: choice('Of them is delivered', ['none', 'part']), ...streamAim },
  },
  'unprocessed-range': {
    target: 'stream',
    effect: 'A replay fails to complete from a minute on.',
    fields: {
      fromDate: needed(
        field(
          special<string>('From', 'a minute as YYYYMMDDHHMM', isMinute),
          { kind: 'text' },
          'YYYYMMDDHHMM',
        ),
      ),
      deliver: choice('Of that minute is delivered', ['none', 'part']),
      ...streamAim,
    },
  },
  flood: {
    target: 'stream',
    effect: 'More than a slow consumer can take.',
    fields: {
      minutes: number('Minutes of compliance events', { min: 1, hint: '60 when empty' }),
      ...streamAim,
    },
  },
} as const satisfies FaultTable;

const KIND = required(
  oneOf('which fault it is', Object.keys(FAULT_TABLE) as readonly Fault['kind'][]),
);

export function isFaultKind(kind: unknown): kind is Fault['kind'] {
  return KIND.accepts(kind);
}

export function isRequestFault(fault: Fault): fault is RequestFault {
  return FAULT_TABLE[fault.kind].target === 'request';
}

export function isJobFault(fault: Fault): fault is JobFault {
  return FAULT_TABLE[fault.kind].target === 'job';
}

export function isStreamFault(fault: Fault): fault is StreamFault {
  return FAULT_TABLE[fault.kind].target === 'stream';
}

export function faultFields(kind: Fault['kind']): Readonly<Record<string, FaultField>> {
  return FAULT_TABLE[kind].fields as Readonly<Record<string, FaultField>>;
}

/** @throws OptionError for an invalid fault. */
export function checkFault(fault: unknown): asserts fault is Fault {
  const { kind, ...fields } = Object(fault) as Record<string, unknown>;
  checkValue('faults.plant', 'fault.kind', KIND, kind);
  checkOptions<object, OptionTable<object>>(
    'faults.plant',
    faultFields(kind as Fault['kind']),
    fields,
    'fault',
  );
}
