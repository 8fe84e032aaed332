import { checkOptions, checkValue, special } from '../../base/check.js';
import { FIRST_POST, floorTo, MINUTE } from '../../base/time.js';
import { Activity, type Format } from '../../post/activity.js';
import { seedOf } from './random.js';
import { renderActivityStreams } from './render-activity-streams.js';
import { renderOriginal } from './render-original.js';
import { type SampleDraft, SampleDrafts } from './sample-draft.js';
import { SAMPLE_OPTIONS, type SampleOptions } from './sample-options.js';

const TIME = special<Date | number>(
  'the minute',
  'a time from 2006-03-21 (UTC) on',
  value => Number.isFinite(Number(value)) && Number(value) >= FIRST_POST,
);

/**
 * Generates the posts of one minute of the sample archive, oldest first: of any minute since 21 March
 * 2006, also in the future. Nothing is stored; the same arguments give the same bytes.
 *
 * @param minute `Date` or epoch milliseconds, floored to its minute.
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

/** The authors of the last seed are cached, because minutes are mostly requested in sequence. */
function draftsOf(seed: string | number, postsPerMinute: number): SampleDrafts {
  const key = JSON.stringify([String(seed), postsPerMinute]);
  if (latest?.key !== key) latest = { key, drafts: new SampleDrafts(seedOf(seed), postsPerMinute) };
  return latest.drafts;
}
