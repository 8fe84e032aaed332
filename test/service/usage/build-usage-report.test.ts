import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { DAY, formatTimestamp, HOUR, MINUTE } from '../../../src/base/time.js';
import type { ServiceOptions } from '../../../src/service/index.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { localJobs, SMALL } from '../jobs/local-jobs.js';
import { AUTHORIZATION, local, NOW, SEARCH_PATH, teaPosts } from '../local-service.js';
import { originalPost } from '../memory-archive.js';
import { END, localStreams, START } from '../replay/local-streams.js';

interface Item {
  readonly activities: number;
  readonly requests?: number;
  readonly fromDate: string;
  readonly toDate: string;
}

interface Used {
  readonly name: string;
  readonly type: string;
  readonly used: readonly Item[];
  readonly projected: Item;
  readonly thresholds?: readonly object[];
}

interface Report {
  readonly account: object;
  readonly bucket: string;
  readonly fromDate: string;
  readonly toDate: string;
  readonly publishers: readonly (Used & { readonly products: readonly Used[] })[];
  readonly error?: { readonly message: string; readonly sent: string };
}

const PATH = '/accounts/local/usage.json';

/** The day of `NOW`, which is 12:34 on 15 May 2024. */
const TODAY = '202405150000';

async function usageAt(baseUrl: string, query = ''): Promise<Report> {
  const response = await fetch(`${baseUrl}${PATH}${query}`, {
    headers: { authorization: AUTHORIZATION },
  });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as Report;
}

function activities({ publishers }: Report): Record<string, number> {
  return Object.fromEntries(
    (publishers[0]?.products ?? []).map(({ name, used }) => [name, sum(used, 'activities')]),
  );
}

function sum(used: readonly Item[], what: 'activities' | 'requests'): number {
  return used.reduce((all, item) => all + (item[what] ?? 0), 0);
}

async function tea(options: ServiceOptions = {}) {
  const service = await local(teaPosts(600), options);
  const drink = async (count: number, product?: string) => {
    const { status } = await service.search({ query: 'tea', maxResults: count }, product);
    expect(status).toBe(200);
  };
  return { ...service, drink, report: (query?: string) => usageAt(service.baseUrl, query) };
}

describe('a usage report of the local service', () => {
  it('covers three months by default', async () => {
    const { drink, report, counts } = await tea();
    await drink(20);
    await drink(10, 'fullarchive');
    await counts({ query: 'tea', bucket: 'day' });
    const item = (fromDate: string, toDate: string, activities: number, requests?: number) => ({
      activities,
      ...(requests !== undefined && { requests }),
      fromDate,
      toDate,
    });
    const three = (activities: number, requests?: number) => {
      const none = requests === undefined ? undefined : 0;
      return [
        item('202403010000', '202404010000', 0, none),
        item('202404010000', '202405010000', 0, none),
        item('202405010000', '202405151235', activities, requests),
      ];
    };
    const wholeMonth = (activities: number, requests?: number) =>
      item('202405010000', '202406010000', activities, requests);
    expect(await report()).toEqual({
      account: { name: 'local', status: 'active' },
      bucket: 'month',
      fromDate: '202403010000',
      toDate: '202405151235',
      publishers: [
        {
          name: 'twitter',
          type: 'twitter',
          used: three(30),
          // The usage of 14.5 days is projected to the 31 days of the month.
          projected: wholeMonth(64),
          products: [
            {
              name: '30day',
              type: 'search',
              used: three(20, 2),
              projected: wholeMonth(43, 4),
            },
            {
              name: 'fullarchive',
              type: 'search',
              used: three(10, 1),
              projected: wholeMonth(21, 2),
            },
          ],
          thresholds: [],
        },
      ],
    });
  });

  it('is empty if no posts were delivered', async () => {
    const { report } = await tea();
    expect((await report()).publishers).toEqual([]);
  });

  describe('with usage limits set as options of the service', () => {
    const reportWithOptions = async () => {
      const { drink, report } = await tea({
        usageAlert: 1000,
        usageCap: 2000,
        requestCap: 50,
        accountStatus: 'inactive',
        account: 'local',
        publisher: 'paper',
      });
      await drink(10);
      return report();
    };

    it('contains the account status', async () => {
      const { account } = await reportWithOptions();
      expect(account).toEqual({ name: 'local', status: 'inactive' });
    });

    it('contains the alert and the cap of posts', async () => {
      const { publishers } = await reportWithOptions();
      expect([publishers[0]?.name, publishers[0]?.thresholds]).toEqual([
        'paper',
        [
          { activities: 1000, type: 'alert' },
          { activities: 2000, type: 'cap' },
        ],
      ]);
    });

    it('contains the cap of requests', async () => {
      const { publishers } = await reportWithOptions();
      expect(publishers[0]?.products[0]?.thresholds).toEqual([{ requests: 50, type: 'cap' }]);
    });
  });

  it('counts a post once per UTC day and per product', async () => {
    const { service, drink, report } = await tea();
    await drink(20);
    await drink(30);
    await drink(20, 'fullarchive');
    expect(activities(await report())).toEqual({ '30day': 30, fullarchive: 20 });
    service.clock.set(Date.UTC(2024, 4, 15, 23, 59, 59, 999));
    await drink(30);
    expect(activities(await report())).toMatchObject({ '30day': 30 });
    service.clock.advance(1);
    await drink(30);
    expect(activities(await report())).toMatchObject({ '30day': 60 });
  });

  it('counts ids separately that are equal as doubles', async () => {
    const ids = ['9007199254740992', '9007199254740993', '18446744073709551615'];
    const posts = ids.map(id => originalPost(NOW - DAY, id, 'tea'));
    const { baseUrl, search } = await local(posts);
    await search({ query: 'tea' });
    expect(activities(await usageAt(baseUrl))).toEqual({ '30day': 3 });
  });

  it('counts only delivered posts', async () => {
    const { ask, search, report } = await tea();
    await search({ query: 'coffee' });
    await search({ query: 'tea', maxResults: 1 });
    await ask(SEARCH_PATH, { headers: { authorization: 'Basic eDp5' } });
    await ask(`${SEARCH_PATH}?query=tea`, { method: 'HEAD' });
    const { publishers } = await report();
    const [product] = publishers[0]?.products ?? [];
    // A HEAD request counts like any other request.
    expect([sum(product?.used ?? [], 'activities'), sum(product?.used ?? [], 'requests')]).toEqual([
      0, 2,
    ]);
  });

  it('counts more posts than a single write can store', async () => {
    const { baseUrl, pages } = await local(teaPosts(9_000, { every: 1_000 }));
    await pages('search', { query: 'tea', maxResults: 500 });
    expect(activities(await usageAt(baseUrl))).toEqual({ '30day': 9_000 });
  });

  it('counts all replays of a stream together, but does not count compliance events', async () => {
    const posts = Array.from({ length: 60 }, (_, i) =>
      originalPost(START + i * MINUTE, String(1_790_000_000_000_000_000n + BigInt(i)), 'tea'),
    );
    const { addresses, see, replayPath, addRules } = await localStreams(posts);
    await addRules({ value: 'tea' });
    await see(replayPath('rulestream', START, START + 20 * MINUTE));
    await see(replayPath('rulestream', START + 10 * MINUTE, START + 30 * MINUTE));
    await see(replayPath('firehose', START, END));
    await see(replayPath('mentions', START, END));
    await see(replayPath('compliance', START, END));
    const report = await usageAt(addresses.baseUrl);
    expect(activities(report)).toEqual({ rulestream: 30, firehose: 60 });
    expect(report.publishers[0]?.products.map(({ type }) => type)).toEqual([
      'rulestream',
      'firehose',
    ]);
    expect(report.publishers[0]?.products[0]?.used[0]).not.toHaveProperty('requests');
  });

  it('counts the posts of a replay that were sent before it was cut', async () => {
    const posts = Array.from({ length: 60 }, (_, i) =>
      originalPost(START + i * MINUTE, String(1_790_000_000_000_000_000n + BigInt(i)), 'tea'),
    );
    const { service, addresses, see, replayPath } = await localStreams(posts);
    service.faults.plant({
      kind: 'unprocessed-range',
      endpoint: 'replay',
      fromDate: formatTimestamp(START + 15 * MINUTE),
      deliver: 'none',
    });
    await see(replayPath('firehose', START, END));
    expect(activities(await usageAt(addresses.baseUrl))).toEqual({ firehose: 15 });
  });

  it('counts the posts of a job on the day when its files were written', async () => {
    const { service, base, bring, job } = await localJobs();
    const uuid = await bring('delivered', SMALL);
    const delivered = (await job(uuid)).results?.activityCount;
    expect(delivered).toBeGreaterThan(0);
    const baseUrl = new URL(base).origin;
    expect(activities(await usageAt(baseUrl))).toEqual({ historical: delivered });
    // The second job delivers the same posts again. On the same day, they count only once.
    await bring('delivered', { ...SMALL, title: 'again' });
    expect(activities(await usageAt(baseUrl))).toEqual({ historical: delivered });
    service.clock.advance(DAY);
    await bring('delivered', { ...SMALL, title: 'next day' });
    expect(activities(await usageAt(baseUrl))).toEqual({ historical: 2 * Number(delivered) });
  });
});

describe('the period of a usage report', () => {
  const itemsOf = (report: Report) =>
    (report.publishers[0]?.used ?? []).map(
      ({ fromDate, toDate, activities }) => `${fromDate}-${toDate} ${activities}`,
    );

  it('consists of whole days', async () => {
    const { drink, report, service } = await tea();
    for (const count of [10, 20, 30]) {
      await drink(count);
      service.clock.advance(DAY);
    }
    const days = await report('?bucket=day&fromDate=202405152359&toDate=202405180001');
    expect([days.bucket, days.fromDate, days.toDate]).toEqual(['day', TODAY, '202405180000']);
    expect(itemsOf(days)).toEqual([
      '202405150000-202405160000 10',
      '202405160000-202405170000 20',
      '202405170000-202405180000 30',
    ]);
  });

  it('ends with the last full UTC day if toDate is today or later', async () => {
    const { drink, report, service } = await tea();
    await drink(10);
    service.clock.advance(DAY);
    await drink(20);
    for (const toDate of ['202405160000', '202405161200', '202405170000', '203001010000']) {
      const days = await report(`?bucket=day&fromDate=202405150000&toDate=${toDate}`);
      expect(days.toDate).toBe('202405160000');
      expect(itemsOf(days)).toEqual(['202405150000-202405160000 10']);
    }
    // Without `toDate`, the report includes the part of the current day that has passed.
    expect(itemsOf(await report('?bucket=day&fromDate=202405150000'))).toEqual([
      '202405150000-202405160000 10',
      '202405160000-202405161235 20',
    ]);
  });

  it('is empty if it contains no day in the past', async () => {
    const { drink, report } = await tea();
    await drink(10);
    for (const query of [
      `?fromDate=${TODAY}&toDate=203001010000`,
      '?fromDate=202501010000',
      '?fromDate=202501010000&toDate=202601010000',
    ]) {
      const { fromDate, toDate, publishers } = await report(query);
      expect([fromDate, publishers]).toEqual([query.slice(10, 22), []]);
      expect(toDate).toBe(fromDate);
    }
  });

  it('starts two months before the month of toDate if fromDate is absent', async () => {
    const { drink, report, service } = await tea();
    await drink(10);
    service.clock.set(Date.UTC(2024, 6, 20));
    const { fromDate, toDate } = await report('?toDate=202406010000');
    expect([fromDate, toDate]).toEqual(['202403010000', '202406010000']);
  });

  it('reaches back at most 12 months, and is empty if it starts earlier', async () => {
    const { drink, report, service } = await tea();
    await drink(10);
    service.clock.set(Date.UTC(2025, 4, 15, 23));
    const all = await report(`?fromDate=${TODAY}`);
    expect(activities(all)).toEqual({ '30day': 10 });
    expect(all.publishers[0]?.used).toHaveLength(13);
    const older = await report('?fromDate=202405140000');
    expect([older.fromDate, older.publishers]).toEqual(['202405140000', []]);
    service.clock.advance(HOUR);
    expect((await report(`?fromDate=${TODAY}`)).publishers).toEqual([]);
  });

  it('does not affect the projection, which is always about the current month', async () => {
    const { drink, report, service } = await tea();
    await drink(10);
    service.clock.set(Date.UTC(2024, 5, 1, 0, 5));
    await drink(20);
    const { publishers } = await report('?fromDate=202405010000&toDate=202406010000');
    expect(publishers[0]?.used.map(({ activities }) => activities)).toEqual([10]);
    // The month has 30 days. Its first five minutes count as one day.
    expect(publishers[0]?.projected).toEqual({
      activities: 600,
      fromDate: '202406010000',
      toDate: '202407010000',
    });
  });
});

describe('the stored usage of the local service', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await temporaryFolder();
  });

  it('survives a restart, together with the ids of the counted posts', async () => {
    const stateFolder = path.join(folder, 'kept');
    const first = await tea({ stateFolder });
    await first.drink(20);
    await first.service.stop();
    const second = await tea({ stateFolder });
    expect(activities(await second.report())).toEqual({ '30day': 20 });
    await second.drink(30);
    expect(activities(await second.report())).toEqual({ '30day': 30 });
    await second.service.stop();
    const { baseUrl } = await second.service.start();
    expect(activities(await usageAt(baseUrl))).toEqual({ '30day': 30 });
  });

  it('is lost if the service has no state folder', async () => {
    const { service, drink } = await tea();
    await drink(20);
    await service.stop();
    const { baseUrl } = await service.start();
    expect((await usageAt(baseUrl)).publishers).toEqual([]);
  });

  it('keeps its totals after the ids of past days are removed', async () => {
    const { service, drink, report } = await tea({ stateFolder: path.join(folder, 'long') });
    for (let day = 0; day < 8; day++) {
      await drink(10);
      service.clock.advance(DAY);
      await report();
    }
    expect(activities(await report())).toEqual({ '30day': 80 });
  });
});
