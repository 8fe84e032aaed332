import { Activity, type Format } from '../../activity/activity.js';
import { OptionError } from '../../errors.js';
import { FIRST_POST, floorTo, MINUTE } from '../../time.js';
import { seedOf } from './random.js';
import { renderActivityStreams } from './render-activity-streams.js';
import { renderOriginal } from './render-original.js';
import { type SampleDraft, SampleDrafts } from './sample-draft.js';

export const DEFAULT_POSTS_PER_MINUTE = 3.5;
const MOST_POSTS_PER_MINUTE = 20_000;

/** The seed, format and density of the posts that `samplePosts` generates. */
export interface SampleOptions {
  /**
   * Decides the posts: the same seed gives the same posts on any machine, at any time. @default
   * 'millrace'
   */
  readonly seed?: string | number | undefined;
  /** The JSON format of the posts. @default 'original' */
  readonly format?: Format | undefined;
  /**
   * Posts in an average minute; the number varies with the hour of the day. @default 3.5, about
   * 150,000 a month
   */
  readonly postsPerMinute?: number | undefined;
}

/**
 * Generates the posts of one minute of the sample archive, oldest first: of any minute since 21 March
 * 2006, also in the future. Nothing is stored; the same arguments give the same bytes.
 *
 * @param minute `Date` or epoch milliseconds, floored to its minute.
 * @throws OptionError for a rate below 0 or above 20,000, or a time before the first post.
 * @example
 * const posts = samplePosts(new Date('2024-02-29T12:34:00Z'), { postsPerMinute: 100 });
 * console.log(posts[0]?.text);
 */
export function samplePosts(minute: Date | number, options: SampleOptions = {}): Activity[] {
  const at = Number(minute);
  if (!Number.isFinite(at) || at < FIRST_POST)
    throw new OptionError(
      'minute',
      `Expected \`minute\` to be a time from 2006-03-21 (UTC) on, got ${minute}`,
    );
  const drafts = draftsOf(options);
  const number = floorTo(MINUTE, at) / MINUTE;
  return Array.from({ length: drafts.countAt(number) }, (_, index) =>
    renderActivity(drafts.draft(number, index), drafts, options.format ?? 'original'),
  );
}

export function renderActivity(draft: SampleDraft, drafts: SampleDrafts, format: Format): Activity {
  const render = format === 'original' ? renderOriginal : renderActivityStreams;
  return new Activity(Buffer.from(render(draft, drafts)));
}

export function sampleDrafts({
  seed = 'millrace',
  postsPerMinute = DEFAULT_POSTS_PER_MINUTE,
}: SampleOptions): SampleDrafts {
  if (!(postsPerMinute >= 0 && postsPerMinute <= MOST_POSTS_PER_MINUTE))
    throw new OptionError(
      'postsPerMinute',
      `Expected \`postsPerMinute\` to be a number from 0 to ${MOST_POSTS_PER_MINUTE}, got ${postsPerMinute}`,
    );
  return new SampleDrafts(seedOf(seed), postsPerMinute);
}

let latest: { readonly key: string; readonly drafts: SampleDrafts } | undefined;

/** The authors of the last seed are cached, because minutes are mostly requested in sequence. */
function draftsOf(options: SampleOptions): SampleDrafts {
  const key = JSON.stringify([String(options.seed), options.postsPerMinute]);
  if (latest?.key !== key) latest = { key, drafts: sampleDrafts(options) };
  return latest.drafts;
}
