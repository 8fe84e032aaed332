import type { Addresses } from 'millrace/service';
import {
  type Expected,
  elementsOf,
  expectedPosts,
  fetchBody,
  fetchPages,
  hashOf,
  idOf,
  isRefused,
} from './bare-client.js';
import { type BareToken, postSigned } from './bare-oauth.js';
import type { RowName } from './pipelines.js';
import { COMPLIANCE_SINCE_MS, minuteOf, NOW, QUERY, WINDOWS } from './windows.js';
import type { World } from './world.js';

// The posts that a run must output. They are fetched from the service without the library.

const SEARCH = '/search/fullarchive/accounts/local/dev';

export async function searchPages({ addresses }: World): Promise<readonly string[][]> {
  const pages = await fetchPages(addresses, `${SEARCH}.json`, {
    query: QUERY,
    maxResults: 10,
    fromDate: minuteOf(WINDOWS.search.from),
    toDate: minuteOf(WINDOWS.search.to),
  });
  return pages.map(page => elementsOf(page, 'results'));
}

export async function searched(world: World): Promise<Expected> {
  return expectedPosts((await searchPages(world)).flat());
}

export async function countPages({
  addresses,
}: World): Promise<readonly (readonly [period: string, count: string])[][]> {
  const pages = await fetchPages(addresses, `${SEARCH}/counts.json`, {
    query: QUERY,
    bucket: 'day',
    fromDate: minuteOf(WINDOWS.counts.from),
    toDate: minuteOf(WINDOWS.counts.to),
  });
  return pages.map(page =>
    elementsOf(page, 'results').map(bucket => [
      /"timePeriod":"(\d+)"/.exec(bucket)?.[1] ?? '',
      /"count":(\d+)/.exec(bucket)?.[1] ?? '',
    ]),
  );
}

export async function counted(world: World): Promise<Expected> {
  return new Map((await countPages(world)).flat());
}

export async function engagementTotals(
  { addresses, service }: World,
  token: BareToken,
  texts: readonly string[],
): Promise<Expected> {
  const expected = new Map<string, string>();
  for (const text of texts) {
    const ids = lines(text).map(idOf);
    const body = await postSigned(addresses, `${addresses.dataUrl}/insights/engagement/totals`, {
      now: service.clock.now(),
      token,
      body: JSON.stringify({
        tweet_ids: ids,
        engagement_types: ['favorites', 'retweets', 'replies'],
        groupings: { posts: { group_by: ['tweet.id', 'engagement.type'] } },
      }),
    });
    const { posts } = JSON.parse(body) as {
      readonly posts: Readonly<Record<string, Readonly<Record<string, string>>>>;
    };
    for (const id_str of ids) {
      const { favorites, retweets, replies } = posts[id_str] ?? {};
      const errors = id_str in posts ? 0 : 1;
      const line = { id_str, favorites, retweets, replies, errors };
      expected.set(id_str, hashOf(JSON.stringify(line)));
    }
  }
  return expected;
}

export async function replayed({ addresses }: World): Promise<readonly string[]> {
  return lines(await fetchBody(addresses, replayUrl(addresses, 'firehose', WINDOWS.replay)));
}

function replayUrl(
  { account, publisher, streamLabel, replayStreamUrl }: Addresses,
  type: 'firehose' | 'compliance',
  { from, to }: { readonly from: number; readonly to: number },
): string {
  const url = `${replayStreamUrl}/replay/${type}/accounts/${account}/publishers/${publisher}/${streamLabel}.json`;
  return `${url}?fromDate=${minuteOf(from)}&toDate=${minuteOf(to)}`;
}

function jobUrl({ account, publisher, historicalUrl }: Addresses, uuid: string): string {
  return `${historicalUrl}/historical/rulestream/accounts/${account}/publishers/${publisher}/jobs/${uuid}`;
}

/**
 * Returns whether the service refuses a request for the start of the pipeline's time range because
 * it is too old. Sends the request without the library.
 */
export async function isExpired(
  addresses: Addresses,
  row: RowName,
  input: string,
): Promise<boolean> {
  const start = row === 'compliance' ? NOW - COMPLIANCE_SINCE_MS : WINDOWS.replay.from;
  const window = { from: start, to: start + 60_000 };
  if (row === 'replay') return isRefused(addresses, replayUrl(addresses, 'firehose', window), 406);
  if (row === 'compliance')
    return isRefused(addresses, replayUrl(addresses, 'compliance', window), 406);
  return isRefused(addresses, `${jobUrl(addresses, input)}/results.json`, 404);
}

export async function jobTexts({ addresses }: World, uuid: string): Promise<Map<string, string>> {
  const results = await fetchBody(addresses, `${jobUrl(addresses, uuid)}/results.json`);
  const list = results.slice(results.indexOf('['), results.indexOf(']'));
  const texts = new Map<string, string>();
  for (const [, url = ''] of list.matchAll(/"(http[^"]+)"/g))
    texts.set(
      `${/(\d\d\/\d\d)_activities/.exec(url)?.[1]?.replace('/', '')}.json.gz`,
      await fetchBody(addresses, url),
    );
  return texts;
}

export function lines(text: string): string[] {
  return text.split(/\r?\n/).filter(line => line !== '' && !line.startsWith('{"info"'));
}

export function* idsIn(post: string): Iterable<string> {
  for (const [, id = ''] of post.matchAll(/"id_str":"(\d+)"/g)) yield id;
}
