import { HOUR, MINUTE, type Window } from '../../time.js';
import type { Archive } from '../archive/archive.js';
import { EventLoopYield } from '../event-loop-yield.js';
import { type EventKind, printEvent, type UserKind } from './print-event.js';

export interface ComplianceEvent {
  /** Epoch milliseconds. */
  readonly at: number;
  /** 1 to 8. */
  readonly partition: number;
  /** As it is sent. */
  readonly json: string;
}

/** How long after its post an event comes. */
const DELAYS = [2 * MINUTE, 40 * MINUTE, 26 * HOUR];
/** How long after it its undoing comes, where there is one. */
const UNDO_DELAY = 12 * MINUTE;

/** What happens to a post, or to its author. */
export interface GeneratedEvent {
  readonly kind: EventKind;
  readonly at: number;
  readonly undoing: { readonly kind: EventKind; readonly at: number } | undefined;
  readonly country: string;
}

/** Kinds and how often they come, of 100. Those of posts do not happen to reposts (section 6). */
const KINDS: readonly (readonly [EventKind, number])[] = [
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
];
const USER_KINDS: readonly UserKind[] = ['user_delete', 'user_protect', 'user_suspend'];
/** Of each, one in two is undone. */
const UNDOINGS: Partial<Record<EventKind, EventKind>> = {
  drop: 'undrop',
  user_delete: 'user_undelete',
  user_protect: 'user_unprotect',
  user_suspend: 'user_unsuspend',
};
const COUNTRIES = ['DE', 'FR', 'IN', 'TR', 'XX', 'XY'];

/**
 * What becomes of a post follows from the seed and the post alone, so that whoever asks, and
 * whenever, is told the same.
 */
export class GeneratedEvents {
  readonly #seed: string;
  readonly #rate: number;

  /** @param rate Events per post, 0 to 1. */
  constructor(seed: string | number, rate: number) {
    this.#seed = String(seed);
    this.#rate = rate;
  }

  get isOff(): boolean {
    return this.#rate === 0;
  }

  /** @param at When the post was made. */
  eventOf(id: string, at: number, isRepost: boolean): GeneratedEvent | undefined {
    if (hash(`${this.#seed} ${id}`) >= this.#rate * 2 ** 32) return undefined;
    const choice = hash(`${id} ${this.#seed}`);
    const kind = isRepost
      ? (USER_KINDS[choice % USER_KINDS.length] as EventKind)
      : kindAt(choice % 100);
    const details = hash(`${this.#seed}:${id}`);
    const delay = DELAYS[details % DELAYS.length] as number;
    // Posts have whole seconds; their events stay in the same minute.
    const eventAt = at + delay + ((details >>> 8) % 1000);
    const undo = (details & 0x80) === 0 ? UNDOINGS[kind] : undefined;
    return {
      kind,
      at: eventAt,
      undoing: undo && { kind: undo, at: eventAt + UNDO_DELAY },
      country: COUNTRIES[(details >>> 20) % COUNTRIES.length] as string,
    };
  }

  /** The events of a window, in order of time. */
  async events(
    archive: Archive,
    window: Window,
    signal: AbortSignal,
  ): Promise<readonly ComplianceEvent[]> {
    if (this.isOff) return [];
    const events: ComplianceEvent[] = [];
    const work = new EventLoopYield(signal);
    // An event comes a known time after its post, so that the posts to look at are known too.
    for (const delay of DELAYS.flatMap(delay => [delay, delay + UNDO_DELAY])) {
      const posted = { from: window.from - delay - 1000, to: window.to - delay };
      for await (const { posts } of archive.scan(posted, { signal }))
        for (const { at, id, activity } of posts) {
          if (work.isDue) await work.pause();
          const fate = this.eventOf(id, at, activity.verb === 'share');
          if (fate === undefined) continue;
          for (const event of [fate, ...(fate.undoing === undefined ? [] : [fate.undoing])]) {
            const isHere = event.at >= window.from && event.at < window.to;
            if (!isHere || Math.floor((event.at - at) / 1000) * 1000 !== delay) continue;
            const userId = activity.author.id;
            const json = printEvent(event.kind, { id, userId }, event.at, fate.country);
            events.push({ at: event.at, partition: partitionOf(userId), json });
          }
        }
    }
    return events.sort((a, b) => a.at - b.at || (a.json < b.json ? -1 : 1));
  }
}

/** Each of the eight has an eighth of all users. */
export function partitionOf(userId: string): number {
  return (hash(userId) % 8) + 1;
}

function kindAt(percent: number): EventKind {
  let rest = percent;
  for (const [kind, share] of KINDS) {
    if (rest < share) return kind;
    rest -= share;
  }
  return 'delete';
}

/** 32 bits that look like chance. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
