import { DAY, floorTo, MINUTE, SECOND, SEGMENT, type Window } from '../../base/time.js';
import type { Archive, ArchivedPost } from '../archive/archive.js';
import type { Clock } from '../clock.js';
import { type GeneratedEvent, GeneratedEvents, type PrintedEvent } from './generated-events.js';
import { InjectedEvents } from './injected-events.js';
import { withoutScrubbedGeo } from './scrub-geo.js';

export interface ComplianceParts {
  readonly clock: Clock;
  readonly seed: string | number;
  /** The number of generated events per post of the archive, 0 to 1. */
  readonly rate: number;
  /** The archive with all posts, including hidden ones. */
  archive(): Promise<Archive>;
  onError(error: unknown): void;
}

export interface KeptEvent {
  /** The time in epoch milliseconds. */
  readonly at: number;
  readonly json: string;
}

type Listener = (event: PrintedEvent) => void;

/** If the clock jumps, the stream sends at most the events of the last day. */
const MAX_CATCH_UP_MS = DAY;

/** An event as the bytes that the stream sends. */
interface EventMessage {
  /** The time in epoch milliseconds. */
  readonly at: number;
  readonly message: Uint8Array;
}

/**
 * All compliance events. Some are generated for posts of the archive, and a test can inject others. This
 * class sends events to listeners when they are due by the service's clock. It also lists the events of a
 * time window, and decides which posts are hidden.
 */
export class Compliance {
  readonly #options: ComplianceParts;
  readonly #generated: GeneratedEvents;
  #injected = new InjectedEvents();
  readonly #listeners = new Set<Listener>();
  /** The generated events of the current minute, computed once for all seconds of the minute. */
  #minute: { readonly from: number; readonly events: Promise<readonly PrintedEvent[]> } = {
    from: Number.NaN,
    events: Promise.resolve([]),
  };
  /**
   * The window and the events of the last call of `recent`. The next call reuses them if its window continues
   * this window.
   */
  #recent: {
    readonly window: Window;
    readonly events: readonly PrintedEvent[];
    readonly version: object | undefined;
  } = { window: { from: 0, to: 0 }, events: [], version: undefined };
  #reached = 0;
  #cancel: (() => void)[] = [];
  #sending: Promise<void> = Promise.resolve();
  #stopping = new AbortController();

  constructor(options: ComplianceParts) {
    this.#options = options;
    this.#generated = new GeneratedEvents(options.seed, options.rate);
  }

  /**
   * Injects an event. Connected clients receive it immediately, and later replays of the stream include it.
   * Search, jobs and replays no longer return the posts or the locations that the event removes, but counts
   * still include them.
   *
   * @param event An object, or its exact JSON, because ids may be too long for numbers.
   * @param at The time of the event in epoch milliseconds; by default the current time of the service's
   * clock.
   * @throws OptionError if `event` is not a compliance event.
   * @example
   * service.compliance.inject('{"delete":{"status":{"id":1,"id_str":"1","user_id":2,"user_id_str":"2"},"timestamp_ms":"1432228155593"}}');
   */
  inject(event: object | string, at: number = this.#options.clock.now()): void {
    const injected = this.#injected.add(event, at);
    for (const listener of this.#listeners) listener(injected);
  }

  /** @internal Returns the injected events, in the form that `replace` accepts. */
  kept(): readonly KeptEvent[] {
    const window = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };
    return this.#injected.within(window).map(({ at, json }) => ({ at, json }));
  }

  /**
   * @internal Replaces the injected events without sending them to clients.
   *
   * @throws OptionError for anything but an event.
   */
  replace(events: readonly KeptEvent[] = []): void {
    const injected = new InjectedEvents();
    for (const { at, json } of events) injected.add(json, at);
    this.#injected = injected;
  }

  /** Returns whether compliance events hide a post at a given time. */
  hides({ id, at, activity }: ArchivedPost, asOf: number): boolean {
    if (this.hidesNothing) return false;
    const original = activity.retweeted;
    // Deleting a post also hides its retweets, which contain it.
    return (
      this.#hides(id, at, activity.author.id, original !== undefined, asOf) ||
      (original !== undefined &&
        this.#hides(original.id, original.postedAt.getTime(), original.author.id, false, asOf))
    );
  }

  /**
   * Returns a post without the locations that its authors have removed by a time. Returns the same object if
   * nothing was removed.
   */
  scrubbed(post: ArchivedPost, asOf: number): ArchivedPost {
    if (this.#injected.scrubsNothing) return post;
    const activity = withoutScrubbedGeo(post.activity, userId =>
      this.#injected.scrubbedUpTo(userId, asOf),
    );
    return activity === post.activity ? post : { ...post, activity };
  }

  get hidesNothing(): boolean {
    return this.#generated.isOff && this.#injected.isEmpty;
  }

  /**
   * Yields the events of a window in chronological order, as messages for a replay. Includes the events of
   * all partitions.
   */
  async *replayed(window: Window, signal: AbortSignal): AsyncGenerator<Iterable<EventMessage>> {
    for (let from = window.from; from < window.to; from += SEGMENT) {
      const events = await this.within({ from, to: Math.min(from + SEGMENT, window.to) }, signal);
      yield messagesOf(events);
    }
  }

  async within(window: Window, signal: AbortSignal): Promise<readonly PrintedEvent[]> {
    const injected = this.#injected.within(window);
    if (this.#generated.isOff) return injected;
    const generated = await this.#generated.events(await this.#options.archive(), window, signal);
    return [...generated, ...injected].sort((a, b) => a.at - b.at);
  }

  /**
   * Returns the events of a window. Meant for repeated calls: generates only the events since the last call.
   *
   * @param version An object that is replaced whenever posts are added or removed. After that, the next call
   * generates all events again.
   */
  async recent(
    { from, to }: Window,
    version: object,
    signal: AbortSignal,
  ): Promise<readonly PrintedEvent[]> {
    const injected = this.#injected.within({ from, to });
    if (this.#generated.isOff) return injected;
    const { window, events, version: known } = this.#recent;
    const isNext = known === version && window.from <= from && from <= window.to && window.to <= to;
    const first = isNext ? window.from : from;
    const added = { from: isNext ? window.to : from, to };
    const fresh = await this.#generated.events(await this.#options.archive(), added, signal);
    const oldest = Math.max(first, to - DAY);
    const kept = [...(isNext ? events : []), ...fresh].filter(({ at }) => at >= oldest);
    this.#recent = { window: { from: oldest, to }, events: kept, version };
    const generated = kept.filter(({ at }) => at >= from);
    return [...generated, ...injected].sort((a, b) => a.at - b.at);
  }

  /** Calls a listener with each event from now on. Returns a function that removes the listener. */
  listen(listener: Listener): () => void {
    if (this.#listeners.size === 0) this.#start();
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stop();
    };
  }

  /** Resolves when all events that are due by the clock were sent. */
  settled(): Promise<void> {
    return this.#sending;
  }

  async close(): Promise<void> {
    this.#stop();
    this.#listeners.clear();
    this.#stopping.abort(new Error('The service is stopping'));
    await this.#sending;
    this.#stopping = new AbortController();
  }

  #hides(id: string, at: number, userId: string, isRepost: boolean, asOf: number): boolean {
    return (
      this.#injected.hides('post', id, asOf) ||
      this.#injected.hides('user', userId, asOf) ||
      isHiddenBy(this.#generated.eventOf(id, at, isRepost), asOf)
    );
  }

  #start(): void {
    const { clock } = this.#options;
    this.#reached = clock.now();
    if (this.#generated.isOff) return;
    const schedule = () => {
      this.#stop();
      this.#cancel = [clock.at(clock.now() + SECOND, send), clock.onMove(send)];
    };
    const send = () => {
      schedule();
      this.#sending = this.#sending
        .then(() => this.#sendDue())
        .catch(error => {
          if (!this.#stopping.signal.aborted) this.#options.onError(error);
        });
    };
    schedule();
  }

  #stop(): void {
    for (const cancel of this.#cancel.splice(0)) cancel();
  }

  async #sendDue(): Promise<void> {
    const now = this.#options.clock.now();
    // If the clock was set back, continues from the new time.
    this.#reached = Math.max(Math.min(this.#reached, now), now - MAX_CATCH_UP_MS);
    while (this.#reached < now) {
      const from = this.#reached;
      const minute = floorTo(MINUTE, from);
      const to = Math.min(now, minute + MINUTE);
      // If the archive cannot be read, `#eventsOf` throws before `#reached` is changed. The next call of
      // `#sendDue` then starts with the same minute.
      for (const event of await this.#eventsOf(minute))
        if (event.at >= from && event.at < to)
          for (const listener of this.#listeners) listener(event);
      // During the wait, a new listener may have set `#reached` to a later time.
      this.#reached = Math.max(this.#reached, to);
    }
  }

  #eventsOf(minute: number): Promise<readonly PrintedEvent[]> {
    if (this.#minute.from !== minute) {
      const { signal } = this.#stopping;
      const window = { from: minute, to: minute + MINUTE };
      const events = this.#options
        .archive()
        .then(archive => this.#generated.events(archive, window, signal));
      this.#minute = { from: minute, events };
      // A failed promise must not stay in the cache. The next call then generates the events again.
      events.catch(() => {
        this.#minute = { ...this.#minute, from: Number.NaN };
      });
    }
    return this.#minute.events;
  }
}

/** Converts the events one at a time, because the bytes of all of them may need much memory. */
function* messagesOf(events: readonly PrintedEvent[]): Generator<EventMessage> {
  for (const { at, json } of events) yield { at, message: Buffer.from(json) };
}

function isHiddenBy(event: GeneratedEvent | undefined, asOf: number): boolean {
  if (event === undefined || event.at > asOf) return false;
  if (event.kind === 'delete') return true;
  return event.kind === 'drop' && (event.undo === undefined || event.undo.at > asOf);
}
