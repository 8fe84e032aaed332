import { checkOptions, checkValue, type OptionTable, oneOf, special } from '../../base/check.js';
import { FIRST_POST, floorTo, MINUTE } from '../../base/time.js';
import { Activity, type Format } from '../../post/activity.js';
import { seedOf } from './random.js';
import { renderActivityStreams } from './render-activity-streams.js';
import { renderOriginal } from './render-original.js';
import { type SampleDraft, SampleDrafts } from './sample-draft.js';

/** Options of generated posts: the seed, the format and the density. */
export interface SampleOptions {
  /**
   * The seed of the generated posts. The same seed gives the same posts on any machine, at any time.
   * @default 'millrace'
   */
  readonly seed?: string | number | undefined;
  /** The format of the generated posts. @default 'original' */
  readonly format?: Format | undefined;
  /**
   * The average number of generated posts per minute, up to 20,000; 0 for none. The number varies with the
   * hour of the day.
   * @default 3.5, about 150,000 per month
   */
  readonly postsPerMinute?: number | undefined;
}

const MAX_POSTS_PER_MINUTE = 20_000;

export const SAMPLE_OPTIONS = {
  format: oneOf<Format>('of generated posts: original (default) or activity_streams', [
    'original',
    'activity_streams',
  ]),
  seed: special<string | number, 'millrace'>(
    'of generated posts and next tokens',
    'text or a number',
    value => typeof value === 'string' || Number.isFinite(value),
    'millrace',
  ),
  postsPerMinute: special<number, 3.5>(
    'generated posts in an average minute',
    `a number from 0 to ${MAX_POSTS_PER_MINUTE}`,
    value => typeof value === 'number' && value >= 0 && value <= MAX_POSTS_PER_MINUTE,
    3.5,
  ),
} as const satisfies OptionTable<SampleOptions>;

const TIME = special<Date | number>(
  'the minute',
  'a time from 2006-03-21 (UTC) on',
  value => Number.isFinite(Number(value)) && Number(value) >= FIRST_POST,
);

/**
 * Generates the posts of one minute of the sample archive, oldest first. The minute may be any since 21 March
 * 2006, even in the future. Nothing is stored, and the same arguments give the same bytes.
 *
 * @param minute A `Date` or epoch milliseconds, floored to its minute.
 * @throws OptionError For an invalid option, or a time before the first post.
 * @example
 * const posts = samplePosts(new Date('2024-02-29T12:34:00Z'), { postsPerMinute: 100 });
 * console.log(posts[0]?.text);
 */
export function samplePosts(minute: Date | number, options: SampleOptions = {}): Activity[] {
  checkValue('samplePosts', 'minute', TIME, minute);
  const checked = checkOptions('samplePosts', SAMPLE_OPTIONS, options);
  const { seed, format = 'original', postsPerMinute } = checked;
  const drafts = draftsOf(seed, postsPerMinute);
  const number = floorTo(MINUTE, Number(minute)) / MINUTE;
  return Array.from({ length: drafts.countAt(number) }, (_, index) =>
    renderActivity(drafts.draft(number, index), drafts, format),
  );
}

export function renderActivity(draft: SampleDraft, drafts: SampleDrafts, format: Format): Activity {
  const render = format === 'original' ? renderOriginal : renderActivityStreams;
  return new Activity(Buffer.from(render(draft, drafts)));
}

let latest: { readonly key: string; readonly drafts: SampleDrafts } | undefined;

/**
 * Returns the generator of a seed's posts. The generator of the last call is cached, because minutes are
 * usually requested in sequence.
 */
function draftsOf(seed: string | number, postsPerMinute: number): SampleDrafts {
  const key = JSON.stringify([String(seed), postsPerMinute]);
  if (latest?.key !== key) latest = { key, drafts: new SampleDrafts(seedOf(seed), postsPerMinute) };
  return latest.drafts;
}
