import { OptionError } from '../../base/errors.js';
import { isRecord } from '../../base/record.js';
import type { Window } from '../../base/time.js';
import { parseExact } from '../../json/exact-ids.js';
import { getOrMake } from '../cache.js';
import { type PrintedEvent, partitionOf } from './generated-events.js';

interface Change {
  readonly at: number;
  readonly reason: string;
  readonly hides: boolean;
}

interface Scrub {
  readonly at: number;
  /** The id of the newest post that loses its location. */
  readonly upTo: bigint;
}

type Fields = Readonly<Record<string, unknown>>;

/** The kinds of events that hide a post or all posts of a user, and the kinds that undo this. */
const HIDING: Readonly<Record<string, readonly [reason: string, hides: boolean]>> = {
  delete: ['deleted', true],
  drop: ['dropped', true],
  undrop: ['dropped', false],
  user_delete: ['user deleted', true],
  user_undelete: ['user deleted', false],
  user_protect: ['protected', true],
  user_unprotect: ['protected', false],
  user_suspend: ['suspended', true],
  user_unsuspend: ['suspended', false],
};

export class InjectedEvents {
  readonly #events: PrintedEvent[] = [];
  /** For each post and user, by kind and id, the events that hide it or show it again. */
  readonly #changes = new Map<string, Change[]>();
  /** For each user, the events that remove the locations of posts. */
  readonly #scrubs = new Map<string, Scrub[]>();

  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  /**
   * @param event An object, or its exact JSON, because ids may be too long for numbers.
   * @throws OptionError if `event` is not a compliance event.
   */
  add(event: object | string, at: number): PrintedEvent {
    const json = typeof event === 'string' ? event : JSON.stringify(event);
    const [kind, body] = readEvent(json);
    const { post, user } = subjectOf(json);
    const partition = partitionOf(user ?? post ?? idOf(body, 'id') ?? '');
    const added = { at, partition, json };
    this.#events.push(added);
    this.#events.sort((a, b) => a.at - b.at);
    const hiding = Object.hasOwn(HIDING, kind) ? HIDING[kind] : undefined;
    if (hiding !== undefined) {
      const [reason, hides] = hiding;
      const isUser = kind.startsWith('user_');
      const id = isUser ? user : idOf(objectAt(body, 'status') ?? {}, 'id');
      if (id !== undefined) {
        const changes = getOrMake(this.#changes, `${isUser ? 'user' : 'post'} ${id}`, () => []);
        changes.push({ at, reason, hides });
        changes.sort((a, b) => a.at - b.at);
      }
    }
    const upTo = kind === 'scrub_geo' ? idOf(body, 'up_to_status_id') : undefined;
    if (user !== undefined && upTo !== undefined && /^\d+$/.test(upTo))
      getOrMake(this.#scrubs, user, () => []).push({ at, upTo: BigInt(upTo) });
    return added;
  }

  get scrubsNothing(): boolean {
    return this.#scrubs.size === 0;
  }

  /**
   * Returns the id up to which the posts of a user had lost their locations at the time `asOf`; `undefined`
   * if no post had lost its location.
   */
  scrubbedUpTo(userId: string, asOf: number): bigint | undefined {
    const [newest] = (this.#scrubs.get(userId) ?? [])
      .filter(({ at }) => at <= asOf)
      .map(({ upTo }) => upTo)
      .sort((a, b) => (a < b ? 1 : -1));
    return newest;
  }

  within({ from, to }: Window): readonly PrintedEvent[] {
    return this.#events.filter(({ at }) => at >= from && at < to);
  }

  /**
   * Returns whether a post or user is hidden at a time. There can be several reasons at once. Each reason
   * needs a separate event that undoes it.
   */
  hides(kind: 'post' | 'user', id: string, asOf: number): boolean {
    const reasons = new Set<string>();
    for (const { at, reason, hides } of this.#changes.get(`${kind} ${id}`) ?? []) {
      if (at > asOf) break;
      if (hides) reasons.add(reason);
      else reasons.delete(reason);
    }
    return reasons.size > 0;
  }
}

export function subjectOf(json: string): {
  readonly kind: string;
  readonly post: string | undefined;
  readonly user: string | undefined;
} {
  const [kind, body] = readEvent(json);
  const about = objectAt(body, 'status') ?? objectAt(body, 'favorite') ?? {};
  const user = idOf(about, 'user_id') ?? idOf(body, 'user_id') ?? userOf(kind, body);
  // In events of these kinds, `id` is the id of a post, not of a user.
  const isOfPost = kind === 'status_withheld' || kind === 'tweet_edit';
  return { kind, post: idOf(about, 'id') ?? (isOfPost ? idOf(body, 'id') : undefined), user };
}

function readEvent(json: string): readonly [kind: string, body: Fields] {
  let event: unknown;
  try {
    event = parseExact(json);
  } catch (cause) {
    throw new OptionError('event', `A compliance event is a JSON object: ${excerpt(json)}`, {
      cause,
    });
  }
  const [entry] = isRecord(event) ? Object.entries(event) : [];
  // The stream sends one event per line, so the JSON must be on one line.
  if (entry === undefined || !isRecord(entry[1]) || /[\r\n]/.test(json))
    throw new OptionError(
      'event',
      `Expected a compliance event, {"<kind>":{...}} without line ends, got ${excerpt(json)}`,
    );
  return [entry[0], entry[1]];
}

function excerpt(json: string): string {
  return JSON.stringify(json.slice(0, 80));
}

function userOf(kind: string, body: Fields): string | undefined {
  if (!kind.startsWith('user_')) return undefined;
  return idOf(objectAt(body, 'user') ?? body, 'id');
}

/** Returns the exact digits of an id, if present. */
function idOf(fields: Fields, name: string): string | undefined {
  const id = fields[`${name}_str`] ?? fields[name];
  return typeof id === 'string' ? id : undefined;
}

function objectAt(fields: Fields, name: string): Fields | undefined {
  const value = fields[name];
  return isRecord(value) ? value : undefined;
}
