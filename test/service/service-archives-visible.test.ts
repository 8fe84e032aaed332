import { describe, expect, it } from 'vitest';
import { DAY, floorTo, HOUR, MINUTE, SECOND } from '../../src/base/time.js';
import { parseExact } from '../../src/json/exact-ids.js';
import { deletion, type Event, manyPosts, settings } from './compliance/deleted-posts.js';
import { AUTHORIZATION, NOW } from './local-service.js';
import { MemoryArchive } from './memory-archive.js';
import { hourOfPosts, idOf, idsIn, localStreams } from './replay/local-streams.js';

describe('a post that a compliance event hides in the local service', () => {
  const SEARCH = '/search/30day/accounts/local/dev.json?query=tea&maxResults=500';
  const COUNTS = '/search/30day/accounts/local/dev/counts.json?query=tea';

  const ask = async (baseUrl: string, path: string) => {
    const response = await fetch(baseUrl + path, { headers: { authorization: AUTHORIZATION } });
    return (await response.json()) as {
      readonly results: readonly { readonly id_str: string }[];
      readonly next?: string;
      readonly totalCount: number;
    };
  };

  it('is missing from search and replay, but included in counts', async () => {
    const { service, addresses, see, replayPath } = await localStreams(hourOfPosts());
    const before = await ask(addresses.baseUrl, COUNTS);
    service.compliance.inject(deletion(idOf(5)));
    const { results } = await ask(addresses.baseUrl, SEARCH);
    expect(results).toHaveLength(59);
    expect(results.map(post => post.id_str)).not.toContain(idOf(5));
    const { messages } = await see(replayPath());
    expect(idsIn(messages)).toHaveLength(59);
    expect(messages.at(-1)).toContain('"activity_count":59');
    expect(await ask(addresses.baseUrl, COUNTS)).toEqual(before);
    expect(before.totalCount).toBe(60);
  });

  it.each([2, 3])(
    'is replaced on its page by the next visible post if one post in %d is hidden',
    async step => {
      const { service, addresses } = await localStreams(hourOfPosts());
      const isHidden = (i: number) => i % step === 0;
      const numbers = Array.from({ length: 60 }, (_, i) => i);
      for (const i of numbers.filter(isHidden)) service.compliance.inject(deletion(idOf(i)));
      const path = SEARCH.replace('500', '10');
      const found: string[] = [];
      let next: string | undefined;
      const sizes = [];
      do {
        const query: string = next === undefined ? '' : `&next=${encodeURIComponent(next)}`;
        const page = await ask(addresses.baseUrl, path + query);
        found.push(...page.results.map(post => post.id_str));
        sizes.push(page.results.length);
        next = page.next;
      } while (next !== undefined);
      const visible = numbers.filter(i => !isHidden(i)).map(idOf);
      expect(found).toEqual(visible.toReversed());
      expect(sizes.slice(0, 3)).toEqual([10, 10, 10]);
    },
  );

  it('stays on a page that is requested again', async () => {
    const { service, addresses } = await localStreams(hourOfPosts());
    const path = SEARCH.replace('500', '10');
    const { next = '' } = await ask(addresses.baseUrl, path);
    const again = () => ask(addresses.baseUrl, `${path}&next=${encodeURIComponent(next)}`);
    const before = await again();
    service.clock.advance(SECOND);
    service.compliance.inject(deletion(idOf(45)));
    expect((await again()).results).toEqual(before.results);
    const ids = before.results.map(post => post.id_str);
    expect(ids).toContain(idOf(45));
  });

  it.each([
    ['drop', 'undrop', '{"status":{"id":1,"id_str":"ID","user_id":7,"user_id_str":"7"}}', 1],
    ['user_delete', 'user_undelete', '{"id":7}', 60],
    ['user_protect', 'user_unprotect', '{"id":7}', 60],
    ['user_suspend', 'user_unsuspend', '{"id":7}', 60],
  ])('is hidden after %s until %s', async (kind, undoing, body, hidden) => {
    const { service, addresses } = await localStreams(hourOfPosts());
    const inject = (name: string) =>
      service.compliance.inject(`{"${name}":${body.replace('ID', idOf(3))}}`);
    inject(kind);
    expect((await ask(addresses.baseUrl, SEARCH)).results).toHaveLength(60 - hidden);
    inject(undoing);
    expect((await ask(addresses.baseUrl, SEARCH)).results).toHaveLength(60);
  });

  it('stays hidden until every event that hides it is undone', async () => {
    const { service, addresses } = await localStreams(hourOfPosts());
    for (const kind of ['user_protect', 'user_suspend', 'user_unprotect'])
      service.compliance.inject(`{"${kind}":{"id":7}}`);
    expect((await ask(addresses.baseUrl, SEARCH)).results).toHaveLength(0);
  });

  it('hides its retweets, too', async () => {
    const [original, other] = hourOfPosts(2);
    if (original === undefined || other === undefined) throw new Error('no posts');
    const raw = String(other.activity.raw).replace(
      '"entities"',
      `"retweeted_status":${original.activity.raw},"entities"`,
    );
    const activity = new (Object.getPrototypeOf(other.activity).constructor)(Buffer.from(raw));
    const { service, addresses } = await localStreams([original, { ...other, activity }]);
    expect((await ask(addresses.baseUrl, SEARCH)).results).toHaveLength(2);
    service.compliance.inject(deletion(original.id));
    expect((await ask(addresses.baseUrl, SEARCH)).results).toHaveLength(0);
  });

  it('is missing from replays exactly if a generated event deletes the post', async () => {
    const posts = manyPosts();
    const { see, replayPath, service, addresses } = await localStreams(posts, settings());
    service.clock.advance(HOUR);
    const { messages } = await see(replayPath('compliance', NOW - 4 * DAY, NOW));
    // A deletion event comes up to 26 hours after its post, so only posts older than 30 hours are
    // compared.
    const young = floorTo(MINUTE, NOW - 30 * HOUR);
    const gone = new Set<unknown>();
    for (const message of messages) {
      const event = parseExact(message) as Event;
      const status = (body: unknown) => (body as { status?: { id: string } })?.status?.id;
      if (status(event.delete) !== undefined) gone.add(status(event.delete));
      if (status(event.drop) !== undefined) gone.add(status(event.drop));
      if (status(event.undrop) !== undefined) gone.delete(status(event.undrop));
    }
    const old = posts.filter(({ at }) => at < young);
    const replayed = await see(replayPath('firehose', old[0]?.at, young));
    const expected = old.filter(({ id }) => !gone.has(id)).map(({ id }) => id);
    expect(idsIn(replayed.messages)).toEqual(expected);
    expect(old.length - expected.length).toBeGreaterThan(100);
    const { totalCount } = await ask(addresses.baseUrl, COUNTS);
    expect(totalCount).toBe(posts.length);
  });

  it('is not searched for if there are no compliance events', async () => {
    const archive = new MemoryArchive(manyPosts());
    const { service } = await localStreams([], { archive });
    expect(service.compliance.hidesNothing).toBe(true);
  });
});

describe('a scrub_geo event of the local service', () => {
  const scrub = (id: string) =>
    `{"scrub_geo":{"user_id":7,"user_id_str":"7","up_to_status_id":${id},"up_to_status_id_str":"${id}","timestamp_ms":"${NOW}"}}`;
  const posts = hourOfPosts().map(post => {
    const json = String(post.activity.raw).replace(
      '"lang"',
      '"coordinates":{"type":"Point","coordinates":[10.7,59.9]},"lang"',
    );
    const activity = new (Object.getPrototypeOf(post.activity).constructor)(Buffer.from(json));
    return { ...post, activity };
  });
  const query = (kind: string, text: string) =>
    `/search/30day/accounts/local/dev${kind}.json?query=${encodeURIComponent(text)}`;

  it('removes locations from search and replay, but not from counts', async () => {
    const { service, addresses, see, replayPath, addRules } = await localStreams(posts);
    const ask = async (path: string) => {
      const headers = { authorization: AUTHORIZATION };
      return (await (await fetch(addresses.baseUrl + path, { headers })).json()) as {
        readonly results: readonly Record<string, unknown>[];
        readonly totalCount: number;
      };
    };
    const found = async () =>
      (await ask(`${query('', 'tea has:geo')}&maxResults=500`)).results.map(post => post.id_str);
    await addRules({ value: 'tea has:geo' });
    expect(await found()).toHaveLength(60);
    service.compliance.inject(scrub(idOf(39)));
    expect(await found()).toEqual(Array.from({ length: 20 }, (_, i) => idOf(59 - i)));
    service.compliance.inject(scrub(idOf(19)));
    expect(await found()).toHaveLength(20);
    const { results } = await ask(`${query('', 'tea')}&maxResults=500`);
    expect(results.filter(post => post.coordinates === null)).toHaveLength(40);
    expect((await ask(query('/counts', 'tea has:geo'))).totalCount).toBe(60);
    const { messages } = await see(replayPath('rulestream'));
    expect(idsIn(messages)).toHaveLength(20);
  });

  it('does not change the pages of an earlier request', async () => {
    const { service, addresses } = await localStreams(posts);
    const ask = async (next = '') => {
      const headers = { authorization: AUTHORIZATION };
      const path = `${query('', 'tea has:geo')}&maxResults=10${next}`;
      return (await (await fetch(addresses.baseUrl + path, { headers })).json()) as {
        readonly next: string;
      };
    };
    const next = `&next=${encodeURIComponent((await ask()).next)}`;
    const page = await ask(next);
    service.clock.advance(MINUTE);
    service.compliance.inject(scrub(idOf(59)));
    expect(await ask(next)).toEqual(page);
  });
});
