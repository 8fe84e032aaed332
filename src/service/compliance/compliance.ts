import { DAY, floorTo, MINUTE, SECOND, SEGMENT, type Window } from '../../time.js';
import type { Archive, ArchivedPost } from '../archive/archive.js';
import type { Clock } from '../clock.js';
import type { ReplayItem } from '../replay/replayed-posts.js';
import { type ComplianceEvent, type GeneratedEvent, GeneratedEvents } from './generated-events.js';
import { InjectedEvents } from './injected-events.js';

export interface ComplianceOptions {
  readonly clock: Clock;
  readonly seed: string | number;
  /** Drawn events per post of the archive, 0 to 1. */
  readonly rate: number;
  /** With the posts that are hidden from others. */
  archive(): Promise<Archive>;
  onError(error: unknown): void;
}

type Listener = (event: ComplianceEvent) => void;

/** Of a clock that was moved far, the stream only tells the last day. */
const MOST_BEHIND = DAY;

/**
 * All compliance events: drawn from the archive, and injected by a test. It tells them as they
 * happen by the service's clock, for any window of the past, and which posts they hide.
 */
export class Compliance {
  readonly #options: ComplianceOptions;
  readonly #fates: GeneratedEvents;
  readonly #injected = new InjectedEvents();
  readonly #listeners = new Set<Listener>();
  /** Drawn events of the minute under way, made once for all its seconds. */
  #minute: { readonly from: number; readonly events: Promise<readonly ComplianceEvent[]> } = {
    from: Number.NaN,
    events: Promise.resolve([]),
  };
  #reached = 0;
  /** What plans the next look at the clock. */
  #cancel: (() => void)[] = [];
  #telling: Promise<void> = Promise.resolve();
  #stopping = new AbortController();

  constructor(options: ComplianceOptions) {
    this.#options = options;
    this.#fates = new GeneratedEvents(options.seed, options.rate);
  }

  /**
   * Makes an event happen: it is sent to everyone connected, it is part of later replays of the
   * stream, and hides what it has to from search, jobs and replays, but not from counts.
   *
   * @param event An object, or its exact JSON: ids may be too long for numbers.
   * @param at When it happens, epoch milliseconds; now by the service's clock where absent.
   * @throws OptionError when it is not an event.
   * @example
   * service.compliance.inject('{"delete":{"status":{"id":1,"id_str":"1","user_id":2,"user_id_str":"2"},"timestamp_ms":"1432228155593"}}');
   */
  inject(event: object | string, at: number = this.#options.clock.now()): void {
    const injected = this.#injected.add(event, at);
    for (const listener of this.#listeners) listener(injected);
  }

  /** Whether a post may not be seen as of an instant. */
  hides({ id, at, activity }: ArchivedPost, asOf: number): boolean {
    if (this.hidesNothing) return false;
    const original = activity.retweeted;
    // 6: deleting the original suffices for the reposts that nest it.
    return (
      this.#hides(id, at, activity.author.id, original !== undefined, asOf) ||
      (original !== undefined &&
        this.#hides(original.id, original.postedAt.getTime(), original.author.id, false, asOf))
    );
  }

  get hidesNothing(): boolean {
    return this.#fates.isOff && this.#injected.isEmpty;
  }

  /** The events of a window, in order of time, all partitions. */
  async *replayed(window: Window, signal: AbortSignal): AsyncGenerator<Iterable<ReplayItem>> {
    for (let from = window.from; from < window.to; from += SEGMENT) {
      const events = await this.within({ from, to: Math.min(from + SEGMENT, window.to) }, signal);
      yield events.map(({ at, json }) => ({ at, message: Buffer.from(json) }));
    }
  }

  async within(window: Window, signal: AbortSignal): Promise<readonly ComplianceEvent[]> {
    const injected = this.#injected.within(window);
    if (this.#fates.isOff) return injected;
    const drawn = await this.#fates.events(await this.#options.archive(), window, signal);
    return [...drawn, ...injected].sort((a, b) => a.at - b.at);
  }

  /** Tells each event from now on; returns the way to stop. */
  listen(listener: Listener): () => void {
    if (this.#listeners.size === 0) this.#start();
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stop();
    };
  }

  /** Resolves when all is told that is due by the clock. */
  settled(): Promise<void> {
    return this.#telling;
  }

  async close(): Promise<void> {
    this.#stop();
    this.#listeners.clear();
    this.#stopping.abort(new Error('The service stops'));
    await this.#telling;
    this.#stopping = new AbortController();
  }

  #hides(id: string, at: number, userId: string, isRepost: boolean, asOf: number): boolean {
    return (
      this.#injected.hidesPost(id, asOf) ||
      this.#injected.hidesUser(userId, asOf) ||
      isHiddenBy(this.#fates.eventOf(id, at, isRepost), asOf)
    );
  }

  #start(): void {
    const { clock } = this.#options;
    this.#reached = clock.now();
    if (this.#fates.isOff) return;
    const plan = () => {
      this.#stop();
      this.#cancel = [clock.at(clock.now() + SECOND, look), clock.onMove(look)];
    };
    const look = () => {
      plan();
      this.#telling = this.#telling
        .then(() => this.#tell())
        .catch(error => {
          if (!this.#stopping.signal.aborted) this.#options.onError(error);
        });
    };
    plan();
  }

  #stop(): void {
    for (const cancel of this.#cancel.splice(0)) cancel();
  }

  /** All drawn events up to now. */
  async #tell(): Promise<void> {
    const now = this.#options.clock.now();
    // A clock that was set back begins anew.
    let from = Math.max(Math.min(this.#reached, now), now - MOST_BEHIND);
    this.#reached = now;
    while (from < now) {
      const minute = floorTo(MINUTE, from);
      const to = Math.min(now, minute + MINUTE);
      for (const event of await this.#eventsOf(minute))
        if (event.at >= from && event.at < to)
          for (const listener of this.#listeners) listener(event);
      from = to;
    }
  }

  #eventsOf(minute: number): Promise<readonly ComplianceEvent[]> {
    if (this.#minute.from !== minute) {
      const { signal } = this.#stopping;
      const window = { from: minute, to: minute + MINUTE };
      const events = this.#options
        .archive()
        .then(archive => this.#fates.events(archive, window, signal));
      this.#minute = { from: minute, events };
      // What failed is tried again.
      events.catch(() => {
        this.#minute = { ...this.#minute, from: Number.NaN };
      });
    }
    return this.#minute.events;
  }
}

function isHiddenBy(fate: GeneratedEvent | undefined, asOf: number): boolean {
  if (fate === undefined || fate.at > asOf) return false;
  if (fate.kind === 'delete') return true;
  return fate.kind === 'drop' && (fate.undoing === undefined || fate.undoing.at > asOf);
}
