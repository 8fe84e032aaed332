import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { ComplianceGap, Tombstones } from 'millrace';

// This import is always the compiled library, even if `--library` names another one. It reads the
// tombstones that the tested library has recorded.
import { openTombstones } from '../../../src/compliance/tombstones.js';
import { type EventKind, printEvent } from '../../../src/service/compliance/generated-events.js';
import type { Random } from '../random.js';
import { randomText } from './archive.js';
import { firstUnnamed, isNamed, type Minutes } from './named-gaps.js';
import { minuteOf } from './windows.js';
import type { World } from './world.js';

const BURSTS = 5;
export const BURST_EVENTS = 8;
/** The ids are larger than the integers that a JavaScript number can represent exactly. */
const FIRST_POST = 1_790_000_000_000_000_001n;
const FIRST_USER = 1_650_000_000_000_000_001n;
/** A time that is longer than the service takes from its response headers to its first event. */
const SUBSCRIBE_MS = 50;
/**
 * The maximum wait for new tombstones, long enough for a busy machine. The wait lasts this long if
 * no tombstone is added, because all posts and users in the events already have one.
 */
const RECORD_MS = 2_000;
/** The maximum wait by the service's clock. Replays deliver missed events half an hour later. */
const MAX_WAIT_MS = 2 * 24 * 3_600_000;
const COUNTRIES = ['DE', 'FR', 'XX', 'XY'];

/**
 * Sequences of events about one post or user. Events about other posts and users come between them.
 */
const STORIES: readonly (readonly EventKind[])[] = [
  ['delete'],
  ['drop'],
  ['drop', 'undrop'],
  ['drop', 'undrop', 'drop'],
  ['drop', 'delete'],
  ['status_withheld', 'status_withheld_flat'],
  ['favorite'],
  ['tweet_edit'],
  ['scrub_geo', 'scrub_geo'],
  ['user_delete'],
  ['user_delete', 'user_undelete'],
  ['user_protect', 'user_unprotect'],
  ['user_suspend', 'user_unsuspend', 'user_suspend'],
  ['user_withheld', 'user_withheld_flat'],
];

interface Sent {
  readonly kind: EventKind;
  /** The time that the event contains. It is later than the time in any earlier event. */
  readonly stamp: number;
  readonly country: string;
  readonly postId: string;
  readonly minute: string;
}

interface Subject {
  readonly of: 'post' | 'user';
  readonly id: string;
  readonly sent: Sent[];
  readonly coming: EventKind[];
}

type Mark = Readonly<Record<string, unknown>>;

const withheld = ({ stamp, country }: Sent): Mark => ({ withheld: [stamp, [country]] });

/**
 * What an event sets in the tombstone of its post or user. An event that undoes a like sets
 * nothing.
 */
const MARKS: Readonly<Partial<Record<EventKind, (event: Sent) => Mark>>> = {
  delete: () => ({ deleted: true }),
  drop: ({ stamp }) => ({ dropped: [stamp, true] }),
  undrop: ({ stamp }) => ({ dropped: [stamp, false] }),
  status_withheld: withheld,
  status_withheld_flat: withheld,
  user_withheld: withheld,
  user_withheld_flat: withheld,
  tweet_edit: () => ({ edited: true }),
  scrub_geo: ({ postId }) => ({ scrubbedUpTo: postId }),
  user_delete: ({ stamp }) => ({ deleted: [stamp, true] }),
  user_undelete: ({ stamp }) => ({ deleted: [stamp, false] }),
  user_protect: ({ stamp }) => ({ protected: [stamp, true] }),
  user_unprotect: ({ stamp }) => ({ protected: [stamp, false] }),
  user_suspend: ({ stamp }) => ({ suspended: [stamp, true] }),
  user_unsuspend: ({ stamp }) => ({ suspended: [stamp, false] }),
};

interface ArriveOptions {
  readonly gaps?: readonly ComplianceGap[] | undefined;
  /** Whether the events in the reported gaps must have arrived as well. @default false */
  readonly isDelivered?: boolean | undefined;
  /** The minutes that the service cannot deliver, so gaps must report them. @default none */
  readonly mustName?: Minutes | undefined;
  /**
   * Whether a fault may turn an event into a different event. `received` then records the different
   * event. @default false
   */
  readonly mayChange?: boolean | undefined;
}

export class ComplianceEvents {
  readonly #world: World;
  readonly #random: Random;
  readonly #bytes: number;
  readonly #subjects: Subject[] = [];
  /** The posts and users that have had the right tombstone since the last event was sent. */
  readonly #right = new Set<Subject>();
  /**
   * For each post or user, how many of its events were recorded when the last process was killed.
   */
  readonly #kept = new Map<Subject, number>();
  readonly #texts = new Set<string>();
  /** The records that the run has received but that were never sent in this form. */
  readonly #changed = new Set<string>();
  #count = 0;
  #stamp = 0;
  #bursts = 0;
  #connectionsSeen = 0;
  readonly #connections: () => number;

  /**
   * @param bytes The size of the text added to each event, which gzip reduces by only a quarter.
   */
  constructor(world: World, random: Random, { bytes = 0 } = {}) {
    this.#bytes = bytes;
    this.#world = world;
    this.#random = random;
    const { faults } = world.service;
    // A planted delay of 0 ms counts the connections.
    const { id } = faults.plant({ kind: 'delay', ms: 0, endpoint: 'compliance', times: 'always' });
    this.#connections = () => faults.list().find(fault => fault.id === id)?.hits ?? 0;
  }

  /**
   * Resolves when the stream has connected at least once more since the last call of this function.
   */
  async connected(): Promise<void> {
    while (this.#connections() === this.#connectionsSeen) await sleep(2);
    this.#connectionsSeen = this.#connections();
    await sleep(SUBSCRIBE_MS);
  }

  get count(): number {
    return this.#count;
  }

  burst(): void {
    if (this.#bursts++ < BURSTS) this.more();
  }

  more(): void {
    this.#right.clear();
    for (let event = 0; event < BURST_EVENTS; event++) this.#send(this.#next());
  }

  #next(): Subject {
    const open = this.#subjects.filter(({ coming }) => coming.length > 0);
    if (open.length > 0 && this.#random.chance(0.4)) return this.#random.pick(open);
    const coming = [...this.#random.pick(STORIES)];
    const of = isOfUser(coming[0] as EventKind) ? 'user' : 'post';
    const id = (of === 'user' ? FIRST_USER : FIRST_POST) + BigInt(this.#subjects.length * 7);
    const subject: Subject = { of, id: String(id), sent: [], coming };
    this.#subjects.push(subject);
    return subject;
  }

  #send({ of, id, sent, coming }: Subject): void {
    const { clock, compliance } = this.#world.service;
    this.#stamp = Math.max(this.#stamp + 1, Math.floor(clock.now()));
    const kind = coming.shift() as EventKind;
    const postId = of === 'post' ? id : String(FIRST_POST - 1n + BigInt(this.#count));
    const country = this.#random.pick(COUNTRIES);
    const userId = of === 'user' ? id : '1';
    const event = printEvent(kind, { id: postId, userId }, this.#stamp, country);
    const text =
      this.#bytes === 0
        ? event
        : `${event.slice(0, -1)},"padding":"${randomText(String(this.#count), this.#bytes)}"}`;
    compliance.inject(text);
    this.#texts.add(text);
    sent.push({ kind, stamp: this.#stamp, country, postId, minute: minuteOf(clock.now()) });
    this.#count++;
  }

  /** Records a text that the run has received, because a fault may have changed it. */
  received(text: string): void {
    if (!this.#texts.has(text)) this.#changed.add(text);
  }

  /**
   * Sends all bursts. Resolves when each post and user has the tombstone that its events require.
   * Also waits until all minutes of `mustName` are in a gap. Unless `isDelivered` is set, events in
   * a gap may be missing. `mustBeIn` compares everything again, including the number of all
   * tombstones.
   */
  async arrive(
    tombstones: () => Tombstones | undefined,
    signal: AbortSignal,
    { gaps = [], isDelivered = false, mustName, mayChange = false }: ArriveOptions = {},
  ): Promise<void> {
    let connections = 0;
    while (true) {
      signal.throwIfAborted();
      // Waits for the first connection, because events that were sent before it would all come from
      // a replay.
      if (this.#connections() === 0) {
        await sleep(2);
        continue;
      }
      this.burst();
      await sleep(this.#random.whole(2, 12));
      // The service reports its time when a connection starts. Therefore, the clock must not
      // advance before the first event of the connection.
      while (connections < this.#connections()) {
        connections = this.#connections();
        await sleep(SUBSCRIBE_MS);
      }
      // The clock advances, so that missed events become old enough for a replay and stay older
      // than new events.
      this.#world.service.clock.advance(this.#random.chance(0.2) ? 240_000 : 20_000);
      const store = tombstones();
      if (store === undefined || this.#bursts < BURSTS) continue;
      const wrong = this.#wrong(store, isDelivered ? [] : gaps, mayChange);
      const worse = wrong.find(subject => this.#right.has(subject));
      if (worse !== undefined && !mayChange)
        throw new Error(`It had the right tombstone before: ${shown(worse, store)}`);
      const [first] = wrong;
      const unnamed = mustName && firstUnnamed(gaps, mustName);
      if (first === undefined && unnamed === undefined) return;
      if (this.#world.service.clock.now() - this.#stamp > MAX_WAIT_MS)
        throw new Error(
          first === undefined
            ? `For two days, no gap names ${unnamed}: ${JSON.stringify(gaps)}`
            : `For two days, a wrong tombstone: ${shown(first, store)}`,
        );
      for (const subject of this.#subjects) if (!wrong.includes(subject)) this.#right.add(subject);
    }
  }

  async recorded(folder: string): Promise<void> {
    await using store = await openTombstones(folder, { readOnly: true });
    const { size } = store;
    const end = performance.now() + RECORD_MS;
    while (store.size === size && performance.now() < end) await sleep(2);
  }

  /**
   * Reads what a killed process has recorded. Throws if an earlier process had recorded more events
   * about a post or user, or if a tombstone contradicts its events. Resolves to the number of
   * tombstones.
   */
  async mustBeKept(folder: string): Promise<number> {
    // If there is no file, the process was killed before it opened the tombstones.
    if (!existsSync(path.join(folder, 'data.mdb'))) return 0;
    await using store = await openTombstones(folder, { readOnly: true });
    for (const subject of this.#subjects) {
      const mark = markIn(store, subject);
      const kept = this.#kept.get(subject) ?? 0;
      const marks = marksOf(subject, event => subject.sent.indexOf(event) >= kept);
      if (!marks.some(one => isDeepStrictEqual(mark, one)))
        throw new Error(`After a kill, lost or wrong: ${shown(subject, store)}`);
      if (isDeepStrictEqual(mark, markOf(subject.sent)))
        this.#kept.set(subject, subject.sent.length);
    }
    return store.size;
  }

  async mustBeIn(folder: string, gaps: readonly ComplianceGap[], mayChange = false): Promise<void> {
    await using store = await openTombstones(folder, { readOnly: true });
    const [wrong] = this.#wrong(store, gaps, mayChange);
    if (wrong !== undefined) throw new Error(`A wrong tombstone: ${shown(wrong, store)}`);
    const found = this.#subjects.filter(subject => markIn(store, subject) !== undefined).length;
    if (store.size < found || (store.size > found && !mayChange))
      throw new Error(`${store.size} tombstones for ${found} posts and users`);
  }

  #wrong(store: Tombstones, gaps: readonly ComplianceGap[], mayChange: boolean): Subject[] {
    const wrong = this.#subjects.filter(subject => {
      const mark = markIn(store, subject);
      return !marksOf(subject, ({ minute }) => isNamed(gaps, minute)).some(one =>
        isDeepStrictEqual(mark, one),
      );
    });
    // A fault that changes an event makes two tombstones wrong. One belongs to the post or user
    // that was sent, and the other to the post or user in the changed event.
    return mayChange && wrong.length <= 2 * this.#changed.size ? [] : wrong;
  }
}

/**
 * Returns what the tombstone of a post or user may contain. Events for which `mayMiss` returns true
 * may be missing.
 */
function marksOf({ sent }: Subject, mayMiss: (event: Sent) => boolean): (Mark | undefined)[] {
  const choices = sent.reduce<Sent[][]>(
    (chosen, event) => [
      ...chosen.map(events => [...events, event]),
      ...(mayMiss(event) ? chosen : []),
    ],
    [[]],
  );
  return choices.map(markOf);
}

/**
 * Returns what these events set in a tombstone. Their times ascend, so the last event of a kind
 * decides.
 */
function markOf(events: readonly Sent[]): Mark | undefined {
  const marks = events.map(event => MARKS[event.kind]?.(event) ?? {});
  const mark = Object.assign({}, ...marks) as Mark;
  return Object.keys(mark).length === 0 ? undefined : mark;
}

function markIn(store: Tombstones, { of, id }: Subject): unknown {
  return of === 'post' ? store.post(id) : store.user(id);
}

function shown(subject: Subject, store: Tombstones): string {
  const { of, id, sent } = subject;
  const kinds = sent.map(({ kind, stamp }) => `${kind} at ${stamp}`).join(', ');
  return `${of} ${id} after ${kinds} has ${JSON.stringify(markIn(store, subject))}`;
}

function isOfUser(kind: EventKind): boolean {
  return kind.startsWith('user_') || kind === 'scrub_geo';
}
