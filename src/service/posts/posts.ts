import { OptionError } from '../../base/errors.js';
import { DAY, FIRST_POST, floorTo, MINUTE, SECOND } from '../../base/time.js';
import { Activity, type Format } from '../../post/activity.js';
import { detached } from '../../post/detach-from-block.js';
import { unescaped } from '../../post/loose-values.js';
import { postTerms } from '../../rules/operators/post-terms.js';
import { rulePost } from '../../rules/post/rule-post.js';
import { type ArchivedPost, newestFirst } from '../archive/archive.js';
import type { Clock } from '../clock.js';
import type { Compliance } from '../compliance/compliance-events.js';
import { SNOWFLAKES, snowflake } from '../sample/sample-ids.js';
import {
  type CompletedPost,
  type ContainedPost,
  instantOf,
  type NewAuthor,
  type NewPost,
  profileOf,
} from './new-post.js';
import { type GivenPost, type ReadPost, readGiven, secondOf } from './read-given.js';
import { renderPost } from './render-post.js';

export interface PostInFormat extends ArchivedPost {
  readonly terms: ReadonlySet<string>;
}

export interface KeptPosts {
  readonly posts: readonly (string | NewPost)[];
  /** The ids of deleted posts. */
  readonly deleted: readonly string[];
}

interface AddedPost extends ContainedPost {
  /** The value that `add` accepts to add the same post again. */
  readonly given: string | NewPost;
  readonly at: number;
  /**
   * The format of a post that was given as exact JSON. `undefined` for any other post, because the service
   * can print it in both formats.
   */
  readonly format: Format | undefined;
  in(format: Format): PostInFormat;
}

/**
 * The added posts of a service: the posts of the option `posts`, and posts that a test adds while the service
 * runs. Searches, counts, replays, jobs and engagement totals include them like other posts.
 */
export class Posts {
  readonly #clock: Clock;
  readonly #compliance: Compliance;
  readonly #asked: Format | undefined;
  /**
   * The posts of the option `posts`. They are added when the service starts, because their default times
   * depend on its clock.
   */
  readonly #given: readonly ReadPost[];
  #added = new Map<string, AddedPost>();
  #deleted = new Set<string>();
  #format: Format | undefined;
  #isOpen = false;
  /** All posts in a format, newest first, cached until they change. */
  #sorted: { [In in Format]?: readonly PostInFormat[] } = {};
  #last = 0;

  /**
   * @internal
   * @param format The requested format, if any.
   */
  constructor(
    given: readonly GivenPost[],
    format: Format | undefined,
    parts: { readonly clock: Clock; readonly compliance: Compliance },
  ) {
    this.#given = readGiven([...given]);
    this.#clock = parts.clock;
    this.#compliance = parts.compliance;
    this.#asked = format;
    // Checks the given posts, and throws if one is invalid. Otherwise, the error would appear only when the
    // service starts.
    this.#complete(this.#given);
    this.clear();
  }

  /**
   * Adds posts. They are visible to all later requests.
   *
   * @param posts One or several posts: exact JSON in the format that the service serves, or fields to
   * complete. Either all posts are added, or none.
   * @returns The posts as the service serves them.
   * @throws OptionError that names the post and its invalid member. Also for an id that was added before.
   * @example
   * const [post] = service.posts.add({ text: 'A cup of coffee', author: 'ann' });
   * service.posts.delete(post.id);
   */
  add(posts: GivenPost | readonly GivenPost[]): readonly Activity[] {
    const added = this.#complete(readGiven(posts));
    const format = this.format;
    return added.map(post => post.in(post.format ?? format).activity);
  }

  /**
   * Deletes a post that was added. The compliance stream sends an event, and search, jobs and replays no
   * longer return the post. Counts still include it, like any deleted post.
   *
   * @throws OptionError for an id that was not added, or that was deleted before.
   */
  delete(id: string): void {
    const post = this.#added.get(id);
    if (post === undefined)
      throw new OptionError(
        'id',
        `service.posts.delete: no post with the id ${id} was added. Events for other posts: \`service.compliance.inject\``,
      );
    if (this.#deleted.has(id))
      throw new OptionError('id', `service.posts.delete: the post ${id} was deleted before`);
    this.#deleted.add(id);
    const { userId } = post;
    this.#compliance.inject(
      `{"delete":{"status":{"id":${id},"id_str":"${id}","user_id":${userId},"user_id_str":"${userId}"},"timestamp_ms":"${Math.floor(this.#clock.now())}"}}`,
    );
  }

  /** Returns the posts that were added, oldest first, including deleted posts. */
  list(): readonly Activity[] {
    const format = this.format;
    return [...this.#added.values()]
      .map(post => post.in(post.format ?? format))
      .sort((a, b) => newestFirst(b, a))
      .map(({ activity }) => activity);
  }

  /** Removes all added posts, as if they had never been posted. Sends no compliance events. */
  clear(): void {
    this.#added = new Map();
    this.#deleted = new Set();
    this.#sorted = {};
  }

  /** @internal Returns the added posts and the deleted ids, so that `replace` can restore them. */
  kept(): KeptPosts {
    return {
      posts: [...this.#added.values()].map(({ given }) => given),
      deleted: [...this.#deleted],
    };
  }

  /**
   * @internal Replaces all posts. Without an argument, only the posts of the option `posts` remain.
   *
   * @throws OptionError
   */
  replace(kept?: KeptPosts): void {
    const posts = kept === undefined ? this.#given : readGiven([...kept.posts]);
    const [added, deleted] = [this.#added, this.#deleted];
    this.clear();
    try {
      if (kept !== undefined || this.#isOpen) this.#complete(posts);
    } catch (error) {
      this.#added = added;
      this.#deleted = deleted;
      throw error;
    }
    this.#deleted = new Set(kept?.deleted);
  }

  /** @internal Whether there are no posts. */
  get isEmpty(): boolean {
    return this.#added.size === 0;
  }

  /**
   * @internal The format in which the service serves posts. The archive, the option `format` or a post given
   * as exact JSON determines it. The default is `original`.
   */
  get format(): Format {
    return this.#format ?? this.#asked ?? this.#formatOfExact() ?? 'original';
  }

  /**
   * @internal Sets the format that the service serves, and adds the posts of the option `posts`. Refuses
   * posts given as exact JSON in the other format.
   */
  open(format: Format): void {
    this.#format = format;
    for (const post of this.#added.values()) checkFormat(post.format, format, `post ${post.id}`);
    if (!this.#isOpen) this.#complete(this.#given);
    this.#isOpen = true;
  }

  /**
   * @internal Returns all posts in a format, newest first.
   *
   * @throws OptionError if a post exists only in the other format.
   */
  in(format: Format): readonly PostInFormat[] {
    this.#sorted[format] ??= [...this.#added.values()]
      .map(post => {
        checkFormat(post.format, format, `post ${post.id}`);
        return post.in(format);
      })
      .sort(newestFirst);
    return this.#sorted[format];
  }

  #formatOfExact(): Format | undefined {
    for (const post of this.#given) if (post.kind === 'exact') return post.format;
    for (const { format } of this.#added.values()) if (format !== undefined) return format;
    return undefined;
  }

  /** Completes posts and adds them. If one cannot be added, adds none. */
  #complete(posts: readonly ReadPost[]): readonly AddedPost[] {
    const added: AddedPost[] = [];
    try {
      for (const post of posts) {
        const { at } = post;
        if (post.kind === 'exact') checkFormat(post.format, this.format, at);
        const next =
          post.kind === 'exact'
            ? exact(post.activity, post.format)
            : this.#completed(post.fields, at);
        if (this.#added.has(next.id))
          throw new OptionError(
            `${at}.id`,
            `posts: \`${at}.id\`: the post ${next.id} was added before`,
          );
        this.#added.set(next.id, next);
        added.push(next);
      }
    } catch (error) {
      for (const { id } of added) this.#added.delete(id);
      throw error;
    }
    this.#sorted = {};
    return added;
  }

  #completed(fields: NewPost, at: string): AddedPost {
    const { postedAt, author: by = 'someone', lang = 'en', likes = 0, retweets = 0 } = fields;
    const author: NewAuthor = typeof by === 'string' ? { handle: by } : by;
    const time = instantOf(postedAt) ?? Math.floor(this.#clock.now()) - MINUTE;
    const retweeted = this.#contained(fields.retweeted, time, `${at}.retweeted`);
    const quoted = this.#contained(fields.quoted, time, `${at}.quoted`);
    const post: CompletedPost = {
      id: fields.id ?? this.#newId(time),
      at: floorTo(SECOND, time),
      author: profileOf({ id: this.#idOf(author.handle), ...author }, time),
      text: fields.text ?? sharedText(retweeted),
      lang,
      likes,
      retweets,
      reply: this.#replied(fields.inReplyTo),
      retweeted,
      quoted,
      idOf: handle => this.#idOf(handle),
    };
    const given: NewPost = {
      ...fields,
      id: post.id,
      postedAt: time,
      ...(typeof fields.retweeted === 'object' && { retweeted: retweeted?.given }),
      ...(typeof fields.quoted === 'object' && { quoted: quoted?.given }),
    };
    return added(
      { given, id: post.id, handle: author.handle, userId: post.author.id, text: post.text },
      post.at,
      undefined,
      format => new Activity(Buffer.from(renderPost(post, format))),
    );
  }

  /**
   * Returns the post that a new post retweets or quotes. `other` is the id of a post that was added before,
   * or the fields of another new post. The latter is by default an hour older than `time`.
   */
  #contained(other: NewPost | string | undefined, time: number, at: string): AddedPost | undefined {
    if (other === undefined) return undefined;
    if (typeof other !== 'string')
      return this.#completed({ postedAt: Math.max(time - 60 * MINUTE, FIRST_POST), ...other }, at);
    const found = this.#added.get(other);
    if (found === undefined)
      throw new OptionError(
        at,
        `posts: \`${at}\`: no post with the id ${other} was added before. Add it first, or give its fields`,
      );
    return found;
  }

  #idOf(handle: string): string | undefined {
    const name = handle.toLowerCase();
    for (const post of this.#added.values())
      if (post.handle.toLowerCase() === name) return post.userId;
    return undefined;
  }

  #replied(id: string | undefined): CompletedPost['reply'] {
    if (id === undefined) return undefined;
    return this.#added.get(id) ?? { id };
  }

  /**
   * Returns a new id. Ids ascend with time and with each post. If all ids of a millisecond are used, returns an
   * id of a later millisecond.
   */
  #newId(at: number): string {
    for (;;) {
      const number = this.#last++;
      const id =
        at < SNOWFLAKES
          ? String(20 + Math.floor(((at - FIRST_POST) / DAY) * 17_568_000) + number)
          : snowflake(at + Math.floor(number / 0x1000), (0x3ff << 12) | (number & 0xfff));
      if (!this.#added.has(id)) return id;
    }
  }
}

function exact(activity: Activity, format: Format): AddedPost {
  detached([activity]);
  const { id, text, raw } = activity;
  const { handle, id: userId } = activity.author;
  const fields = { given: raw.toString(), id, handle, userId, text: unescaped(text) };
  return added(fields, secondOf(activity), format, () => activity);
}

function added(
  fields: Pick<AddedPost, 'given' | 'id' | 'handle' | 'userId' | 'text'>,
  at: number,
  format: Format | undefined,
  render: (format: Format) => Activity,
): AddedPost {
  const rendered: { [In in Format]?: PostInFormat } = {};
  const inFormat = (asked: Format): PostInFormat => {
    if (rendered[asked] === undefined) {
      const activity = render(asked);
      const terms = postTerms(rulePost(activity, 'search'));
      rendered[asked] = { id: fields.id, at, activity, terms };
    }
    return rendered[asked];
  };
  return {
    ...fields,
    at,
    format,
    in: inFormat,
    render: asked => inFormat(asked).activity.raw.toString(),
  };
}

/**
 * Throws if a post cannot be served because its exact JSON is in another format than `served`.
 *
 * @param format The format of the exact JSON. `undefined` for a post whose fields the service has completed,
 *   because such a post can be printed in both formats.
 */
function checkFormat(format: Format | undefined, served: Format, at: string): void {
  if (format !== undefined && format !== served)
    throw new OptionError(
      'format',
      `posts: \`${at}\` has the format ${format}, and is asked for in ${served}. The option \`format\` decides which one a service serves; a post of some fields has both`,
    );
}

const MAX_RETWEET_CHARS = 140;

function sharedText(shared: ContainedPost | undefined): string {
  if (shared === undefined) return '';
  const points = Array.from(`RT @${shared.handle}: ${shared.text}`);
  return points.length <= MAX_RETWEET_CHARS
    ? points.join('')
    : `${points.slice(0, MAX_RETWEET_CHARS - 1).join('')}…`;
}
