import { OptionError } from '../../errors.js';
import { parseTimestamp } from '../../time.js';
import { ENDPOINTS } from './endpoints.js';
import type { Fault, JobFault, RequestFault, StreamFault } from './fault-kinds.js';

type Check = (value: unknown) => boolean;

const isCount: Check = value => Number.isSafeInteger(value) && (value as number) >= 0;
const isPositive: Check = value => Number.isSafeInteger(value) && (value as number) > 0;
const isText: Check = value => typeof value === 'string' && value !== '';
const isDuration: Check = value => typeof value === 'number' && value >= 0 && value <= 2 ** 31 - 1;
const isOneOf =
  (...values: readonly unknown[]): Check =>
  value =>
    values.includes(value);
const isErrorStatus: Check = value => isCount(value) && Number(value) >= 400 && Number(value) < 600;

const isMinute: Check = value => typeof value === 'string' && parseTimestamp(value) !== undefined;
const isMinutes: Check = value => Array.isArray(value) && value.length > 0 && value.every(isMinute);

const HITS: Record<string, Check> = {
  kind: isText,
  times: value => value === 'always' || isPositive(value),
  skip: isCount,
};
const AIM: Record<string, Check> = {
  ...HITS,
  endpoint: isOneOf(...ENDPOINTS.filter(endpoint => endpoint !== 'control')),
  path: isText,
};
const JOB_AIM: Record<string, Check> = { ...HITS, title: isText };
const STREAM_AIM: Record<string, Check> = {
  ...HITS,
  endpoint: isOneOf('replay', 'compliance'),
  path: isText,
};

interface Fields {
  readonly needs: Readonly<Record<string, Check>>;
  readonly may: Readonly<Record<string, Check>>;
}

/** What each kind has to have, and what it may have. */
const REQUEST_FIELDS: Record<RequestFault['kind'], Fields> = {
  status: { needs: { status: isErrorStatus }, may: { message: isText, retryAfter: isCount } },
  cut: {
    needs: { afterBytes: isCount },
    may: { end: isOneOf('reset', 'close', 'finish'), inCharacter: isOneOf(true, false) },
  },
  stall: { needs: { afterBytes: isCount }, may: { forMs: isDuration } },
  flip: { needs: { atByte: isCount }, may: {} },
  delay: { needs: { ms: isDuration }, may: {} },
  'counts-timeout': { needs: { buckets: isPositive }, may: {} },
};

const JOB_FIELDS: Record<JobFault['kind'], Fields> = {
  'job-failure': { needs: { during: isOneOf('estimating', 'running', 'validation') }, may: {} },
  'suspect-minutes': { needs: { minutes: isMinutes }, may: {} },
  'wrong-totals': {
    needs: {},
    may: {
      urlCount: Number.isSafeInteger,
      totalFileSizeBytes: Number.isSafeInteger,
      activityCount: Number.isSafeInteger,
    },
  },
};

const STREAM_FIELDS: Record<StreamFault['kind'], Fields> = {
  'content-cut': {
    needs: { afterMessages: isCount },
    may: {
      within: isOneOf('message', 'character', 'boundary'),
      end: isOneOf('reset', 'close', 'finish'),
    },
  },
  'wrong-count': { needs: { by: Number.isSafeInteger }, may: {} },
  'minutes-failed': { needs: { minutes: isMinutes }, may: { deliver: isOneOf('none', 'part') } },
  'unprocessed-range': { needs: { fromDate: isMinute }, may: { deliver: isOneOf('none', 'part') } },
  flood: { needs: {}, may: { minutes: isPositive } },
};

const FIELDS: Record<Fault['kind'], Fields> = {
  ...REQUEST_FIELDS,
  ...JOB_FIELDS,
  ...STREAM_FIELDS,
};

export function isJobFault(fault: Fault): fault is JobFault {
  return Object.hasOwn(JOB_FIELDS, fault.kind);
}

export function isStreamFault(fault: Fault): fault is StreamFault {
  return Object.hasOwn(STREAM_FIELDS, fault.kind);
}

/** @throws OptionError for a fault that could not happen. */
export function checkFault(fault: unknown): asserts fault is Fault {
  const given = (typeof fault === 'object' && fault !== null ? fault : {}) as Record<
    string,
    unknown
  >;
  const kind = String(given.kind);
  if (!Object.hasOwn(FIELDS, kind))
    throw new OptionError(
      'fault.kind',
      `Expected a fault with a \`kind\` of ${Object.keys(FIELDS).join(', ')}, got ${JSON.stringify(fault)}`,
    );
  const { needs, may } = FIELDS[kind as Fault['kind']];
  const aim = aimOf(kind as Fault['kind']);
  const known = { ...aim, ...may, ...needs };
  for (const name of new Set([...Object.keys(needs), ...Object.keys(given)])) {
    const value = given[name];
    const check = Object.hasOwn(known, name) ? known[name] : undefined;
    if (check === undefined)
      throw new OptionError(`fault.${name}`, `A fault of kind ${kind} has no \`${name}\``);
    if (!(value === undefined && !Object.hasOwn(needs, name)) && !check(value))
      throw new OptionError(
        `fault.${name}`,
        `Not a value for \`${name}\` of a fault of kind ${kind}: ${JSON.stringify(value)}`,
      );
  }
}

function aimOf(kind: Fault['kind']): Record<string, Check> {
  if (Object.hasOwn(JOB_FIELDS, kind)) return JOB_AIM;
  return Object.hasOwn(STREAM_FIELDS, kind) ? STREAM_AIM : AIM;
}
