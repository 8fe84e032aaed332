import type { ComplianceEvent } from '../activity/compliance-event.js';
import { isRecord } from '../is-record.js';

/** A value, and the time of the last event that set it (epoch milliseconds). */
type Timed<T> = readonly [at: number, what: T];

/** The state of a post after all recorded compliance events. */
export interface PostTombstone {
  /** Permanently. */
  readonly deleted?: true;
  /** Whether there is a newer version, permanently. */
  readonly edited?: true;
  readonly dropped?: Timed<boolean>;
  /** Two-letter codes in upper case; `XX` and `XY` mean all countries. */
  readonly withheld?: Timed<readonly string[]>;
}

/** The state of a user after all recorded compliance events. */
export interface UserTombstone {
  readonly deleted?: Timed<boolean>;
  readonly protected?: Timed<boolean>;
  readonly suspended?: Timed<boolean>;
  readonly withheld?: Timed<readonly string[]>;
  /** Posts up to this id have permanently lost their locations. */
  readonly scrubbedUpTo?: string;
}

/** The change of one post or user: a function of the tombstone before. */
export type Change =
  | {
      readonly of: 'post';
      readonly id: string;
      readonly change: (mark: PostTombstone) => PostTombstone;
    }
  | {
      readonly of: 'user';
      readonly id: string;
      readonly change: (mark: UserTombstone) => UserTombstone;
    };

const USER_STATES = {
  user_delete: ['deleted', true],
  user_undelete: ['deleted', false],
  user_protect: ['protected', true],
  user_unprotect: ['protected', false],
  user_suspend: ['suspended', true],
  user_unsuspend: ['suspended', false],
} as const;

/**
 * The changes of an event. Events may be repeated and in any order, live ones before those of a replay:
 * the outcome is the same, because the latest time counts.
 */
export function changesOf(event: ComplianceEvent): readonly Change[] {
  const at = event.at?.getTime() ?? 0;
  switch (event.kind) {
    case 'delete':
      return [ofPost(event.postId, mark => ({ ...mark, deleted: true }))];
    case 'drop':
    case 'undrop': {
      const dropped = [at, event.kind === 'drop'] as const;
      return [
        ofPost(event.postId, mark => ({ ...mark, dropped: later(mark.dropped, dropped, either) })),
      ];
    }
    case 'status_withheld': {
      const withheld = [at, sorted(event.countries)] as const;
      return [
        ofPost(event.postId, mark => ({
          ...mark,
          withheld: later(mark.withheld, withheld, union),
        })),
      ];
    }
    case 'tweet_edit':
      return event.ids
        .filter(id => BigInt(id) < BigInt(event.postId))
        .map(id => ofPost(id, mark => ({ ...mark, edited: true })));
    case 'user_withheld': {
      const withheld = [at, sorted(event.countries)] as const;
      return [
        ofUser(event.userId, mark => ({
          ...mark,
          withheld: later(mark.withheld, withheld, union),
        })),
      ];
    }
    case 'scrub_geo':
      return [
        ofUser(event.userId, mark => ({
          ...mark,
          scrubbedUpTo: largerId(mark.scrubbedUpTo, event.upToId),
        })),
      ];
    case 'favorite_delete':
    case 'unknown':
      return [];
    default: {
      const [state, on] = USER_STATES[event.kind];
      const said = [at, on] as const;
      return [
        ofUser(event.userId, mark => ({ ...mark, [state]: later(mark[state], said, either) })),
      ];
    }
  }
}

/** Most posts are only deleted, which one byte encodes. */
const DELETED = Buffer.from('D');

export function encodeTombstone(mark: PostTombstone | UserTombstone): Buffer {
  const keys = Object.keys(mark);
  if (keys.length === 1 && 'deleted' in mark && mark.deleted === true) return DELETED;
  return Buffer.from(JSON.stringify(Object.fromEntries(Object.entries(mark).sort())));
}

/** @throws Error for what `encodeTombstone` never gives. */
export function decodeTombstone<M extends PostTombstone | UserTombstone>(bytes: Uint8Array): M {
  if (bytes.length === 1 && bytes[0] === DELETED[0]) return { deleted: true } as M;
  const mark = JSON.parse(Buffer.from(bytes).toString()) as M | null;
  if (!isRecord(mark) || !Object.entries(mark).every(isState))
    throw new Error('A tombstone is damaged');
  return mark;
}

function isState([name, value]: readonly [string, unknown]): boolean {
  if (name === 'scrubbedUpTo') return typeof value === 'string' && /^\d{1,20}$/.test(value);
  if (name === 'edited' || (name === 'deleted' && !Array.isArray(value))) return value === true;
  if (!Array.isArray(value) || value.length !== 2 || !Number.isSafeInteger(value[0])) return false;
  if (name === 'withheld')
    return Array.isArray(value[1]) && value[1].every(country => typeof country === 'string');
  return /^(?:deleted|dropped|protected|suspended)$/.test(name) && typeof value[1] === 'boolean';
}

/** The larger id, compared as integers. */
export function largerId(a: string | undefined, b: string): string {
  return a === undefined || BigInt(b) > BigInt(a) ? b : a;
}

/** Of two values with the same time, `merge` makes one that hides what either hides. */
function later<T>(a: Timed<T> | undefined, b: Timed<T>, merge: (a: T, b: T) => T): Timed<T> {
  if (a === undefined || b[0] > a[0]) return b;
  return b[0] < a[0] ? a : [b[0], merge(a[1], b[1])];
}

const either = (a: boolean, b: boolean) => a || b;
const union = (a: readonly string[], b: readonly string[]) => sorted([...a, ...b]);

function ofPost(id: string, change: (mark: PostTombstone) => PostTombstone): Change {
  return { of: 'post', id, change };
}

function ofUser(id: string, change: (mark: UserTombstone) => UserTombstone): Change {
  return { of: 'user', id, change };
}

function sorted(countries: readonly string[]): readonly string[] {
  return [...new Set(countries)].sort();
}
