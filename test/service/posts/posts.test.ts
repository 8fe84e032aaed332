import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../../src/base/time.js';
import {
  type Activity,
  activities,
  collect,
  counts,
  gunzip,
  jobFiles,
  jobs,
  jsonLines,
  OptionError,
  pipeline,
  replay,
} from '../../../src/index.js';
import { partitionOf } from '../../../src/service/compliance/generated-events.js';
import { createService, samplePosts } from '../../../src/service/index.js';
import { bySuite } from '../../suite.js';
import { COMPLIANCE_PATH, connect } from '../replay/local-streams.js';
import { localOAuth } from '../users/local-oauth.js';
import { added, FORMATS, NOW, serve, textsOf } from './serve-posts.js';

describe('the posts given to a service', () => {
  it.each(FORMATS)('are served with their exact bytes in the format %s', async format => {
    const given = samplePosts(NOW - HOUR, { postsPerMinute: 200, format });
    const { everything, service } = await serve({ posts: given, format });
    const posts = await everything();
    const withoutRules = posts.map(({ raw, id }) => [id, stripped(raw)]);
    const rawOf = new Map(given.map(({ id, raw }) => [id, stripped(raw)]));
    expect(new Set(posts.map(({ id }) => id)).size).toBe(posts.length);
    expect(posts.length).toBe(given.length);
    for (const [id, raw] of withoutRules) expect(raw).toBe(rawOf.get(id as string));
    expect(
      service.posts
        .list()
        .map(({ raw }) => raw.toString())
        .toSorted(),
    ).toEqual(given.map(({ raw }) => raw.toString()).toSorted());
  });

  it('determine the format of the service, whether they are activities, bytes, strings or objects', async () => {
    const [a, b, c, d] = samplePosts(NOW - HOUR, {
      postsPerMinute: 300,
      format: 'activity_streams',
    }) as [Activity, Activity, Activity, Activity];
    const { service } = await serve({
      posts: [a, b.raw, c.raw.toString(), JSON.parse(d.raw.toString()) as object],
    });
    expect(
      service.posts
        .list()
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual([a, b, c, d].map(({ id }) => id).toSorted());
    expect(service.posts.list()[0]?.format).toBe('activity_streams');
  });

  it('keep every digit of ids that JSON.parse would round', async () => {
    for (const { raw, id, author } of samplePosts(NOW - HOUR, { postsPerMinute: 60 })) {
      const { posts } = createService({ posts: [JSON.parse(raw.toString()) as object] });
      await using service = createService({ posts: [JSON.parse(raw.toString()) as object] });
      await service.start();
      expect(service.posts.list()[0]).toMatchObject({ id, author });
      expect(service.posts.list()[0]?.raw.toString()).toBe(raw.toString());
      expect(posts.list()).toEqual([]);
    }
  });

  it('are counted, replayed, and written to job files in both formats', async () => {
    const at = NOW - 2 * HOUR;
    const { acme, service } = await serve({
      posts: Array.from({ length: 25 }, (_, i) => ({
        text: `tea ${i}`,
        postedAt: at + i * MINUTE,
      })),
    });
    const window = { fromDate: new Date(at - HOUR), toDate: new Date(at + HOUR) };
    const buckets = await pipeline(
      counts(acme, { product: '30day', query: 'tea', bucket: 'hour', ...window }),
      collect(),
    );
    expect(buckets.map(({ count }) => count)).toEqual([0, 25, 0]);

    const replayed = await pipeline(replay(acme, { streamType: 'firehose', ...window }), collect());
    expect(textsOf(replayed)).toEqual(Array.from({ length: 25 }, (_, i) => `tea ${i}`));

    for (const dataFormat of FORMATS) {
      const job = await jobs.run(acme, {
        title: dataFormat,
        dataFormat,
        rules: [{ value: 'tea' }],
        ...window,
        decide: () => true,
        pollIntervalMs: 1,
      });
      const delivered = await pipeline(
        jobFiles(acme, job),
        gunzip(),
        jsonLines(),
        activities(),
        collect(),
      );
      expect(delivered).toHaveLength(25);
      expect(delivered[0]?.format).toBe(dataFormat);
    }
    expect(service.posts.list()).toHaveLength(25);
  });

  it('can be added while it runs, and cause a compliance event when they are deleted', async () => {
    const { acme, addresses, service, found } = await serve({ posts: [] });
    expect(await found('tea')).toEqual([]);
    const [tea] = service.posts.add({ text: 'tea', author: { handle: 'ann', id: '42' } });
    service.posts.add([{ text: 'more tea' }, { text: 'coffee' }]);
    expect(textsOf(await found('tea'))).toEqual(['more tea', 'tea']);
    const id = String(tea?.id);

    const partition = partitionOf('42');
    const stream = await connect(`${addresses.baseUrl}${COMPLIANCE_PATH}?partition=${partition}`);
    service.posts.delete(id);
    const sent = await stream.until(text => text.includes('delete'));
    expect(JSON.parse(sent)).toEqual({
      delete: {
        status: { id: Number(id), id_str: id, user_id: 42, user_id_str: '42' },
        timestamp_ms: String(NOW),
      },
    });
    stream.destroy();
    expect(textsOf(await found('tea'))).toEqual(['more tea']);
    const [bucket] = await pipeline(
      counts(acme, {
        product: '30day',
        query: 'tea',
        bucket: 'day',
        fromDate: new Date(NOW - DAY),
      }),
      collect(),
    ).then(all => all.toReversed());
    expect(bucket?.count).toBe(2);
    expect(() => service.posts.delete('1')).toThrow(/no post with the id 1 was added/);
    expect(() => service.posts.delete(id)).toThrow(/was deleted before/);
  });

  it('are not found before the time that they state', async () => {
    const { service, found } = await serve({
      posts: [{ text: 'tea', postedAt: new Date(NOW + HOUR) }],
    });
    expect(await found('tea')).toEqual([]);
    service.clock.advance('61m');
    expect(await found('tea')).toHaveLength(1);
  });

  it('add their retweets and replies to the engagement totals', async () => {
    const { service, signIn, post } = await localOAuth();
    const [first] = service.posts.add({
      text: 'tea',
      author: 'ann',
      postedAt: NOW - 9 * DAY,
      likes: 5,
    });
    const id = String(first?.id);
    service.posts.add([
      { retweeted: id, author: 'bob', postedAt: NOW - 3 * DAY },
      { retweeted: id, author: 'cid', postedAt: NOW - 2 * DAY },
      { text: '@ann yes', inReplyTo: id, author: 'bob', postedAt: NOW - DAY },
    ]);
    const retweets = service.posts.list().filter(({ verb }) => verb === 'share');
    expect(retweets.map(({ text, retweeted }) => [text, retweeted?.id])).toEqual([
      ['RT @ann: tea', id],
      ['RT @ann: tea', id],
    ]);
    const json = {
      tweet_ids: [id],
      engagement_types: ['favorites', 'retweets', 'replies'],
      groupings: { all: { group_by: ['engagement.type'] } },
    };
    const reply = await post('/insights/engagement/totals', { ...(await signIn('ann')), json });
    expect(JSON.parse(reply.text)).toEqual({
      all: { favorites: '5', retweets: '2', replies: '1' },
    });
  });

  it('are not added a second time when the service restarts', async () => {
    const service = createService({ posts: [{ text: 'tea' }] });
    await service.start();
    service.posts.add({ text: 'more' });
    await service.stop();
    await service.start();
    expect(service.posts.list()).toHaveLength(2);
    await service.stop();
  });

  it('get unique ids in the order of their times', () => {
    const times = fc.array(fc.integer({ min: Date.UTC(2006, 2, 22), max: Date.UTC(2030, 0, 1) }), {
      minLength: 2,
      maxLength: 20,
    });
    fc.assert(
      fc.property(times, at => {
        const { posts } = createService({ posts: [] });
        const added = posts.add(at.map(postedAt => ({ text: 'x', postedAt })));
        expect(new Set(added.map(({ id }) => id)).size).toBe(at.length);
        const sorted = added.toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
        const seconds = sorted.map(({ postedAt }) => postedAt.getTime());
        // Posts within the same second may have ids in any order.
        for (const [i, second] of seconds.entries())
          expect(second).toBeGreaterThanOrEqual((seconds[i - 1] ?? 0) - 1_000);
      }),
      { numRuns: bySuite(13, 50) },
    );
  });
});

describe('posts added to a service', () => {
  it('are listed in order of time, whatever their ids', () => {
    const posts = added([
      { text: 'later', id: '5', postedAt: NOW - HOUR },
      { text: 'earlier', id: '9', postedAt: NOW - DAY },
    ]);
    expect(textsOf(posts.list())).toEqual(['earlier', 'later']);
  });

  it('are served as one line each, even if they are given on several lines', () => {
    const [sample] = samplePosts(NOW, { postsPerMinute: 200 }) as [Activity];
    const printed = sample.raw.toString().replace('{', '{\r\n  ').replace(/}$/, '\n}\n');
    const [post] = added([printed]).list();
    expect(post?.id).toBe(sample.id);
    expect(post?.raw.toString()).not.toMatch(/[\r\n]/);
  });

  it('get different ids even if one millisecond has too few ids for all of them', () => {
    const many = Array.from({ length: 4200 }, () => ({ text: 'x', postedAt: NOW - HOUR }));
    expect(
      new Set(
        added(many)
          .list()
          .map(({ id }) => id),
      ).size,
    ).toBe(4200);
  });

  it('stay unchanged if a replacement fails', () => {
    const posts = added([
      { text: 'tea', id: '7' },
      { text: 'deleted', id: '8' },
    ]);
    posts.delete('8');
    const before = posts.kept();
    const twice = [
      { text: 'a', id: '5' },
      { text: 'b', id: '5' },
    ];
    expect(() => posts.replace({ posts: twice, deleted: [] })).toThrow(OptionError);
    expect(posts.kept()).toEqual(before);
  });
});

function stripped(raw: Buffer): string {
  const post = JSON.parse(raw.toString()) as { matching_rules?: unknown; gnip?: object };
  delete post.matching_rules;
  if (post.gnip !== undefined) delete (post.gnip as { matching_rules?: unknown }).matching_rules;
  return JSON.stringify(post);
}

describe('the control API of the local service', () => {
  it.each([
    ['one object', (posts: readonly string[]) => String(posts[0]), 1],
    ['an array', (posts: readonly string[]) => `[${posts.join(' ,\n')}]`, 3],
    ['lines', (posts: readonly string[]) => `${posts.join('\n')}\r\n\n`, 3],
  ] as const)('adds, lists and deletes posts given as %s', async (_, bodyOf, count) => {
    const raws = samplePosts(NOW - HOUR, { postsPerMinute: 300 })
      .slice(0, 3)
      .map(({ raw }) => raw.toString());
    const { control, service } = await serve({ posts: [] });
    const added = await control('POST', 'posts', bodyOf(raws));
    expect(added.status).toBe(201);
    expect(added.text).toBe(`{"posts":[${raws.slice(0, count).join(',')}]}`);
    expect(service.posts.list()).toHaveLength(count);
    expect((await control('GET', 'posts')).text.length).toBe(added.text.length);
    const [{ id }] = service.posts.list() as [Activity];
    expect(await control('DELETE', `posts/${id}`)).toEqual({
      status: 200,
      text: `{"deleted":"${id}"}`,
    });
    expect((await control('DELETE', 'posts/5')).status).toBe(404);
  });

  it('rejects bad posts and names the wrong member', async () => {
    const { control } = await serve({ posts: [] });
    const { status, text } = await control('POST', 'posts', '[{"text":"a"},{"txt":"b"}]');
    expect(status).toBe(422);
    expect(text).toContain('posts[1].txt');
    expect((await control('POST', 'posts', '[{"text":"a"}')).status).toBe(422);
    const one = await control('POST', 'posts', '{"text":"a","quoted":"12"}');
    expect(one.text).toContain('posts[0].quoted');
    const none = await control('POST', 'posts', ' \n');
    expect(none).toMatchObject({ status: 422, text: expect.stringContaining('no post') });
    expect(await control('POST', 'posts', '[]')).toEqual({ status: 201, text: '{"posts":[]}' });
    expect((await control('POST', 'posts', '{"text":"a"')).status).toBe(422);
    expect((await control('GET', 'posts')).text).toBe('{"posts":[]}');
  });

  it('adds posts to an archive of generated posts', async () => {
    const { control, found } = await serve({ postsPerMinute: 0.05 });
    await control('POST', 'posts', '{"text":"a unique zyxwv post","likes":7}');
    expect(textsOf(await found('zyxwv'))).toEqual(['a unique zyxwv post']);
  });
});
