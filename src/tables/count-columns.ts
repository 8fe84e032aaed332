import type { CountBucket } from '../search/counts.js';
import { builtIn, type ItemKind } from './built-in.js';

const BUCKETS: ItemKind = {
  name: 'buckets of counts',
  accepts: item => {
    const { timePeriod, start } = Object(item) as Partial<CountBucket>;
    return typeof timePeriod === 'string' && start instanceof Date;
  },
};

/** The columns of counted buckets, as `counts` gives them. */
export const counts = builtIn(BUCKETS, (bucket: CountBucket) => bucket, {
  time_period: {
    type: 'string',
    meaning: 'Start as the service writes it, `YYYYMMDDHHMM` in UTC',
    value: ({ timePeriod }) => timePeriod,
  },
  start: { type: 'timestamp', meaning: 'Start of the bucket', value: ({ start }) => start },
  count: { type: 'int64', meaning: 'Posts that match', value: ({ count }) => count },
});
