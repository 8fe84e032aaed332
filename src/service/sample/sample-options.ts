import { type OptionTable, oneOf, special } from '../../base/check.js';
import type { Format } from '../../post/activity.js';

/** The seed, format and density of generated posts. */
export interface SampleOptions {
  /**
   * Decides the generated posts: the same seed gives the same posts on any machine, at any time.
   * @default 'millrace'
   */
  readonly seed?: string | number | undefined;
  /** Format of the generated posts. @default 'original' */
  readonly format?: Format | undefined;
  /**
   * Generated posts in an average minute, up to 20,000, 0 for none; the number varies with the hour of the day.
   * @default 3.5, about 150,000 a month
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
