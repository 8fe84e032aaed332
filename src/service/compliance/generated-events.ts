import { HOUR, MINUTE, type Window } from '../../base/time.js';
import { HASH_START, hashText } from '../../rules/post/tokeniser.js';
import type { Archive, SortKey } from '../archive/archive.js';
import { EventLoopYield } from '../event-loop-yield.js';

export interface PrintedEvent {
  /** The time in epoch milliseconds. */
  readonly at: number;
  /** The partition, 1 to 8. */
  readonly partition: number;
  /** The event as JSON, exactly as the stream sends it. */
  readonly json: string;
}

/** The possible delays between a post and its event, in milliseconds. */
const DELAYS = [2 * MINUTE, 40 * MINUTE, 26 * HOUR];
/** The delay between an event and the event that undoes it, in milliseconds. */
const UNDO_DELAY = 12 * MINUTE;

export interface GeneratedEvent {
  readonly kind: EventKind;
  readonly at: number;
  readonly undo: { readonly kind: EventKind; readonly at: number } | undefined;
  readonly country: string;
}

/** The kinds of events, with their percentages. Retweets get only the kinds in `USER_KINDS`. */
const KINDS = [
  ['delete', 36],
  ['drop', 8],
  ['status_withheld', 4],
  ['status_withheld_flat', 4],
  ['favorite', 8],
  ['tweet_edit', 6],
  ['scrub_geo', 8],
  ['user_delete', 6],
  ['user_protect', 7],
  ['user_suspend', 6],
  ['user_withheld', 4],
  ['user_withheld_flat', 3],
] as const;
const USER_KINDS = ['user_delete', 'user_protect', 'user_suspend'] as const;
/** For each kind of event that can be undone, the kind that undoes it. Half of these events are undone. */
const UNDO_KINDS = {
  drop: 'undrop',
  user_delete: 'user_undelete',
  user_protect: 'user_unprotect',
  user_suspend: 'user_unsuspend',
} as const;

export type EventKind = (typeof KINDS)[number][0] | (typeof UNDO_KINDS)[keyof typeof UNDO_KINDS];

const COUNTRIES = ['DE', 'FR', 'IN', 'TR', 'XX', 'XY'];

/**
 * Compliance events that depend only on the seed and the post, so that every query at any time returns the
 * same events.
 */
export class GeneratedEvents {
  readonly #seed: string;
  readonly #rate: number;

  /** @param rate The number of events per post, 0 to 1. */
  constructor(seed: string | number, rate: number) {
    this.#seed = String(seed);
    this.#rate = rate;
  }

  get isOff(): boolean {
    return this.#rate === 0;
  }

  /** @param at The time of the post. */
  eventOf(id: string, at: number, isRepost: boolean): GeneratedEvent | undefined {
    if (mixedHash(`${this.#seed} ${id}`) >= this.#rate * 2 ** 32) return undefined;
    const choice = mixedHash(`${id} ${this.#seed}`);
    const kind = isRepost
      ? (USER_KINDS[choice % USER_KINDS.length] as EventKind)
      : kindAt(choice % 100);
    const details = mixedHash(`${this.#seed}:${id}`);
    const delay = DELAYS[details % DELAYS.length] as number;
    // Posts have times in whole seconds. Real events have milliseconds, so up to 999 ms are added.
    const eventAt = at + delay + ((details >>> 8) % 1000);
    const undo = (details & 0x80) === 0 ? undoOf(kind) : undefined;
    return {
      kind,
      at: eventAt,
      undo: undo && { kind: undo, at: eventAt + UNDO_DELAY },
      country: COUNTRIES[(details >>> 20) % COUNTRIES.length] as string,
    };
  }

  /** Returns the events of a window, in chronological order. */
  async events(
    archive: Archive,
    window: Window,
    signal: AbortSignal,
  ): Promise<readonly PrintedEvent[]> {
    if (this.isOff) return [];
    const events: PrintedEvent[] = [];
    const work = new EventLoopYield(signal);
    // An event, or the event that undoes it, follows its post after one of six delays. Therefore, only posts
    // in six time windows can have events in `window`.
    for (const delay of DELAYS.flatMap(delay => [delay, delay + UNDO_DELAY])) {
      const posted = { from: window.from - delay - 1000, to: window.to - delay };
      const eventAfterDelay = (id: string, at: number, isRepost: boolean) => {
        const generated = this.eventOf(id, at, isRepost);
        if (generated === undefined) return undefined;
        const { kind, undo, country } = generated;
        return [{ kind, at: generated.at }, undo]
          .filter(event => event !== undefined)
          .filter(event => event.at >= window.from && event.at < window.to)
          .filter(event => Math.floor((event.at - at) / 1000) * 1000 === delay)
          .map(event => ({ ...event, country }))[0];
      };
      // Whether a post is a retweet is unknown until the post is read, so `wanted` assumes that it is. Every
      // event of a retweet can be undone. The check therefore covers the time of the event, and the time at
      // which it may be undone.
      const wanted = ({ id, at }: SortKey) => eventAfterDelay(id, at, true) !== undefined;
      for await (const { posts } of archive.scan(posted, { wanted, signal }))
        for (const { at, id, activity } of posts) {
          if (work.isDue) await work.pause();
          const event = eventAfterDelay(id, at, activity.verb === 'share');
          if (event === undefined) continue;
          const userId = activity.author.id;
          const json = printEvent(event.kind, { id, userId }, event.at, event.country);
          events.push({ at: event.at, partition: partitionOf(userId), json });
        }
    }
    return events.sort((a, b) => a.at - b.at);
  }
}

function undoOf(kind: EventKind): EventKind | undefined {
  return kind in UNDO_KINDS ? UNDO_KINDS[kind as keyof typeof UNDO_KINDS] : undefined;
}

function kindAt(roll: number): EventKind {
  let rest = roll;
  for (const [kind, percent] of KINDS) {
    if (rest < percent) return kind;
    rest -= percent;
  }
  return 'delete';
}

/** The ids of a post and its author, as digits. */
export interface EventPost {
  readonly id: string;
  readonly userId: string;
}

/**
 * Returns the JSON of an event, with exact ids. The two kinds of withheld events exist in the documented form,
 * and in the form of older captures (`_flat`).
 */
export function printEvent(kind: EventKind, post: EventPost, at: number, country: string): string {
  const { id, userId } = post;
  const stamp = `"timestamp_ms":"${at}"`;
  const status = `{"id":${id},"id_str":"${id}","user_id":${userId},"user_id_str":"${userId}"}`;
  switch (kind) {
    case 'delete':
      return `{"delete":{"status":${status},${stamp}}}`;
    case 'favorite':
      return `{"delete":{"favorite":${status},${stamp}}}`;
    case 'drop':
    case 'undrop':
      return `{"${kind}":{"status":${status},${stamp}}}`;
    case 'status_withheld':
      return `{"status_withheld":{"status":${status},"withheld_in_countries":["${country}"],${stamp}}}`;
    case 'status_withheld_flat':
      return `{"status_withheld":{"id":${id},"user_id":${userId},"withheld_in_countries":["${country.toLowerCase()}"],${stamp}}}`;
    case 'tweet_edit': {
      const edited = editOf(id);
      return `{"tweet_edit":{"id":"${edited}","initial_tweet_id":"${id}","edit_tweet_ids":["${id}","${edited}"],${stamp}}}`;
    }
    case 'scrub_geo':
      return `{"scrub_geo":{"user_id":${userId},"up_to_status_id":${id},"up_to_status_id_str":"${id}","user_id_str":"${userId}",${stamp}}}`;
    case 'user_withheld': {
      const sent = new Date(at).toISOString().replace('Z', '+00:00');
      return `{"user_withheld":{"user":{"id":${userId},"id_str":"${userId}"},"withheld_in_countries":["${country}"],"timestampMs":"${sent}"}}`;
    }
    case 'user_withheld_flat':
      return `{"user_withheld":{"id":${userId},${stamp},"withheld_in_countries":["${country}"]}}`;
    default:
      return `{"${kind}":{"id":${userId},${stamp}}}`;
  }
}

/**
 * Returns the id of an edit that was made one minute after a post. The bits above the lowest 22 count
 * milliseconds.
 */
function editOf(id: string): bigint {
  return BigInt(id) + (60_000n << 22n);
}

export const PARTITIONS = 8;

/** Returns the number of the partition that carries all events of a user: 1 to `PARTITIONS`. */
export function partitionOf(userId: string): number {
  return (mixedHash(userId) % PARTITIONS) + 1;
}

/** Returns a 32-bit hash of a string: FNV-1a, then a mixing step. */
function mixedHash(text: string): number {
  let h = hashText(HASH_START, text);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
