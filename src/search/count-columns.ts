import { builtIn, definer, type ItemKind } from '../tables/built-in.js';
import type { CountBucket } from './counts.js';

const BUCKETS: ItemKind = {
  name: 'buckets of counts',
  accepts: item => {
    const { timePeriod, start } = Object(item) as Partial<CountBucket>;
    return typeof timePeriod === 'string' && start instanceof Date;
  },
};

const of = definer<CountBucket>();

/** The columns of counted buckets, as `counts` gives them. */
export const counts = builtIn(BUCKETS, (bucket: CountBucket) => bucket, {
  time_period: of(
    'string',
    'Start as the service writes it, `YYYYMMDDHHMM` in UTC',
    ({ timePeriod }) => timePeriod,
  ),
  start: of('timestamp', 'Start of the bucket', ({ start }) => start),
  count: of('int64', 'Posts that match', ({ count }) => count),
});
