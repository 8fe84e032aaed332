import { describe, expectTypeOf, it } from 'vitest';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { map } from '../../src/operators/map.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import type { Activity } from '../../src/post/activity.js';
import type { CountBucket } from '../../src/search/counts.js';
import { collect } from '../../src/sinks/collect.js';
import * as tables from '../../src/tables/tables.js';
import type { UsageRow } from '../../src/usage/usage-table.js';
import type { Engaged } from '../../src/users/engagement.js';
import type { Count, CountAs, EngagementType } from '../../src/users/engagement-request.js';

// The compiler checks these types (`npm run check`). At run time, the tests only show that the
// calls exist.
const posts: Flow<Activity> = new Flow(async function* () {});
const buckets: Flow<CountBucket> = new Flow(async function* () {});

type ItemOf<Columns extends { readonly [name: string]: { value(item: never): unknown } }> =
  Parameters<Columns[keyof Columns]['value']>[0];

describe('the types of table rows', () => {
  it('follow from the columns, including custom columns of the caller', () => {
    const some = () =>
      pipeline(
        posts,
        map(
          tables.toRow([
            'id',
            'posted_at',
            'hashtags',
            { name: 'words', type: 'int32', value: post => post.text.length },
            { name: 'days', type: 'list<int64>', value: () => [1n, '2'] },
          ]),
        ),
        collect(),
      );
    expectTypeOf(some).returns.resolves.toEqualTypeOf<
      {
        readonly id: string | null;
        readonly posted_at: Date | null;
        readonly hashtags: readonly string[] | null;
        readonly words: number | null;
        readonly days: readonly bigint[] | null;
      }[]
    >();
  });

  it('follow from a whole table of columns', () => {
    const all = () => pipeline(buckets, map(tables.toRow(tables.counts)), collect());
    expectTypeOf(all).returns.resolves.toEqualTypeOf<
      {
        readonly time_period: string | null;
        readonly start: Date | null;
        readonly count: bigint | null;
      }[]
    >();
    const more = tables.toRow([
      tables.counts,
      {
        name: 'year',
        type: 'int32',
        value: (bucket: CountBucket) => bucket.start.getUTCFullYear(),
      },
    ]);
    expectTypeOf(more).returns.toHaveProperty('year').toEqualTypeOf<number | null>();
    expectTypeOf(more).returns.toHaveProperty('count').toEqualTypeOf<bigint | null>();
  });

  it('are known for the table of each endpoint family', () => {
    expectTypeOf<CountBucket>().toExtend<ItemOf<typeof tables.counts>>();
    expectTypeOf<UsageRow>().toExtend<ItemOf<typeof tables.usage>>();
    expectTypeOf<Engaged<EngagementType, Count<CountAs>>>().toExtend<
      ItemOf<typeof tables.engagement>
    >();
    expectTypeOf<CountBucket>().not.toExtend<ItemOf<typeof tables.usage>>();
  });

  it('include the column `tag` after routeByTag', () => {
    const routed = () =>
      pipeline(posts, routeByTag(), map(tables.toRow(['tag', tables.posts.id])), collect());
    expectTypeOf(routed).returns.resolves.toEqualTypeOf<
      { readonly tag: string | null; readonly id: string | null }[]
    >();
  });

  it('do not allow unknown columns, or values of another type', () => {
    // @ts-expect-error posts have no such column
    const unknown = () => tables.toRow(['created_at']);
    const wrong = () =>
      // @ts-expect-error a text is not an int32
      tables.toRow([{ name: 'words', type: 'int32', value: (post: Activity) => post.text }]);
    // @ts-expect-error a list of texts is not a list of numbers
    const list = () => tables.toRow([{ name: 'n', type: 'list<double>', value: () => ['1'] }]);
    expectTypeOf([unknown, wrong, list]).toBeArray();
  });
});
