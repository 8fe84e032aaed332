import { describe, expectTypeOf, it } from 'vitest';
import type { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import type { Account } from '../../src/http/account.js';
import { map } from '../../src/operators/map.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import type { Activity } from '../../src/post/activity.js';
import { collect } from '../../src/sinks/collect.js';
import { type Engaged, engagement } from '../../src/users/engagement.js';
import type { GroupBy, Nested } from '../../src/users/engagement-request.js';
import { engagementTotals } from '../../src/users/engagement-totals.js';

// The compiler checks these types (`npm run check`). At run time, the tests only show that the
// calls exist.
declare const acme: Account;
declare const posts: Flow<Activity>;
const ids = ['1'];

describe('the types of engagement totals', () => {
  it('follow from the option `group_by`', () => {
    const both = () =>
      engagementTotals(acme, {
        ids,
        types: ['favorites', 'replies'],
        groupings: {
          posts: { group_by: ['tweet.id', 'engagement.type'] },
          types: { group_by: ['engagement.type', 'tweet.id'] },
          sum: { group_by: ['engagement.type'] },
          all: { group_by: ['tweet.id'] },
        },
      });
    type Found = Awaited<ReturnType<typeof both>>['totals'];
    expectTypeOf<Found['posts']['1']>().toEqualTypeOf<{
      readonly favorites?: string;
      readonly replies?: string;
    }>();
    expectTypeOf<Found['types']['favorites']>().toEqualTypeOf<
      { readonly [id: string]: string } | undefined
    >();
    expectTypeOf<Found['sum']>().toEqualTypeOf<{
      readonly favorites?: string;
      readonly replies?: string;
    }>();
    expectTypeOf<Found['all']>().toEqualTypeOf<{ readonly [id: string]: string }>();
  });

  it('are grouped by post and type by default, with counts as strings', () => {
    const plain = () => engagementTotals(acme, { ids });
    type Found = Awaited<ReturnType<typeof plain>>['totals'];
    expectTypeOf<Found['byPost']['1']>().toEqualTypeOf<{
      readonly favorites?: string;
      readonly retweets?: string;
      readonly replies?: string;
    }>();
    const numbers = () => engagementTotals(acme, { ids, counts: 'number', types: ['replies'] });
    expectTypeOf<Awaited<ReturnType<typeof numbers>>['totals']['byPost']['1']>().toEqualTypeOf<{
      readonly replies?: number;
    }>();
  });

  it('are general if `group_by` is not a literal type', () => {
    const later = (group_by: GroupBy[]) =>
      engagementTotals(acme, { ids, groupings: { g: { group_by } } });
    expectTypeOf<Awaited<ReturnType<typeof later>>['totals']['g']>().toEqualTypeOf<
      Nested<string>
    >();
  });

  it('do not allow options that the service does not have', () => {
    // @ts-expect-error impressions are not requested here
    const types = () => engagementTotals(acme, { ids, types: ['impressions'] });
    const grouped = () =>
      // @ts-expect-error nor days
      engagementTotals(acme, { ids, groupings: { g: { group_by: ['engagement.day'] } } });
    // @ts-expect-error a number would not hold an id
    const rounded = () => engagementTotals(acme, { ids: [1] });
    const missing = async () => {
      const { totals } = await engagementTotals(acme, { ids, types: ['replies'] });
      // @ts-expect-error favorites were not asked for
      return totals.byPost['1']?.favorites;
    };
    expectTypeOf([types, grouped, rounded, missing]).toBeArray();
  });

  it('are known to the stages after the operator', () => {
    const join = () =>
      pipeline(
        posts,
        engagement(acme, { counts: 'bigint', types: ['favorites'] }),
        map(({ totals }) => totals?.favorites),
        collect(),
      );
    expectTypeOf(join).returns.resolves.toEqualTypeOf<(bigint | undefined)[]>();
    const plain = () => pipeline(posts, engagement(acme), collect());
    expectTypeOf(plain).returns.resolves.toEqualTypeOf<Engaged[]>();
    // @ts-expect-error its items are not activities
    const routed = () => pipeline(posts, engagement(acme), routeByTag(), collect());
    expectTypeOf(routed).toBeFunction();
  });
});
