import { builtIn, definer, type ItemKind } from './column.js';

/** The fields that the columns read from a bucket of `counts`. */
interface CountedBucket {
  readonly timePeriod: string;
  readonly start: Date;
  readonly count: number;
}

const BUCKETS: ItemKind = {
  name: 'buckets of counts',
  accepts: item => {
    const { timePeriod, start } = Object(item) as Partial<CountedBucket>;
    return typeof timePeriod === 'string' && start instanceof Date;
  },
};

const of = definer<CountedBucket>();

/** The columns for counted buckets, which are the items of `counts`. */
export const countColumns = builtIn(BUCKETS, (bucket: CountedBucket) => bucket, {
  time_period: of(
    'string',
    'Start as the service writes it, `YYYYMMDDHHMM` in UTC',
    ({ timePeriod }) => timePeriod,
  ),
  start: of('timestamp', 'Start of the bucket', ({ start }) => start),
  count: of('int64', 'Posts that match', ({ count }) => count),
});
