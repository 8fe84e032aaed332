import { createCipheriv } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { MINUTE, SECOND } from '../../../src/base/time.js';
import { parseRule } from '../../../src/rules/language/parse-rule.js';
import { compileRule } from '../../../src/rules/match/compile-rule.js';
import { openSampleArchive } from '../../../src/service/sample/sample-archive.js';
import { NOW } from '../local-service.js';
import { originalPost, streamsPost } from '../memory-archive.js';
import { hourOfPosts, idOf, idsIn, localStreams, START } from './local-streams.js';

describe('a replay response of the local service', () => {
  it('delivers all posts of the window, oldest first, byte for byte', async () => {
    const posts = hourOfPosts();
    const { see, replayPath } = await localStreams(posts);
    const { status, headers, text, complete } = await see(replayPath());
    const info =
      '{"info":{"message":"Replay Request Completed","sent":"2024-05-15T12:34:56+00:00","activity_count":60}}';
    expect(status).toBe(200);
    expect(text).toBe([...posts.map(post => String(post.activity.raw)), info, ''].join('\r\n'));
    expect(headers).toMatchObject({
      'content-encoding': 'gzip',
      'content-type': 'application/json; charset=utf-8',
      'transfer-encoding': 'chunked',
    });
    expect(complete).toBe(true);
  });

  it('closes the connection after its last message, even if the client requests keep-alive', async () => {
    const { see, replayPath } = await localStreams();
    const { headers } = await see(replayPath(), { connection: 'keep-alive' });
    expect(headers.connection).toBe('close');
  });

  it('includes posts at fromDate, but not at toDate', async () => {
    const { see, replayPath } = await localStreams(hourOfPosts());
    const { messages } = await see(replayPath('firehose', START + 5 * MINUTE, START + 8 * MINUTE));
    expect(idsIn(messages)).toEqual([idOf(5), idOf(6), idOf(7)]);
    expect(messages.at(-1)).toContain('"activity_count":3');
  });

  it('is complete and empty if the window contains no posts', async () => {
    const { see, replayPath } = await localStreams();
    expect((await see(replayPath())).messages).toEqual([
      '{"info":{"message":"Replay Request Completed","sent":"2024-05-15T12:34:56+00:00","activity_count":0}}',
    ]);
  });

  it('contains no carriage return within a message', async () => {
    const raw = (id: string) =>
      `{"created_at":"Wed May 15 10:00:00 +0000 2024",\r\n"id":${id},"id_str":"${id}",\r"text":"a\\r\\nb"}`;
    const [post] = hourOfPosts(1);
    const activity = new (Object.getPrototypeOf(post?.activity).constructor)(Buffer.from(raw('5')));
    const { see, replayPath } = await localStreams([{ at: START, id: '5', activity }]);
    const { text } = await see(replayPath());
    expect(text.split('\r\n')).toHaveLength(3);
    expect(JSON.parse(text.split('\r\n')[0] as string)).toEqual(JSON.parse(raw('5')));
  });
});

describe('a replay of the local service', () => {
  it('of type rulestream delivers the posts that match its rules, with tags and exact ids', async () => {
    const text = (i: number) => ['black tea', 'green tea', 'coffee'][i % 3] as string;
    const { see, replayPath, addRules } = await localStreams(hourOfPosts(6, text));
    const [tea, green] = await addRules({ value: 'tea', tag: 'drinks' }, { value: 'green' });
    const { messages } = await see(replayPath('rulestream'));
    expect(idsIn(messages)).toEqual([0, 1, 3, 4].map(idOf));
    const rules = (id: string | undefined, tag: string | null) => ({ tag, id_str: id });
    const matching = messages.slice(0, -1).map(message => JSON.parse(message).matching_rules);
    expect(matching[0]).toMatchObject([rules(tea, 'drinks')]);
    expect(matching[1]).toMatchObject([rules(tea, 'drinks'), rules(green, null)]);
    expect(messages[0]).toContain(`"id":${tea},"id_str":"${tea}"`);
  });

  it('of type rulestream lists matching rules under gnip in Activity Streams', async () => {
    const { MemoryArchive } = await import('../memory-archive.js');
    const archive = new MemoryArchive([streamsPost(START, '7', 'tea')], 'activity_streams');
    const { see, replayPath, addRules } = await localStreams([], { archive });
    const [id] = await addRules({ value: 'tea', tag: 'drinks' });
    const { messages } = await see(replayPath('rulestream'));
    expect(JSON.parse(messages[0] as string).gnip.matching_rules).toMatchObject([
      { tag: 'drinks', id_str: id },
    ]);
  });

  it('of type powertrack delivers the same posts as rulestream', async () => {
    const { see, replayPath, addRules } = await localStreams(hourOfPosts(3));
    await addRules({ value: 'tea' });
    expect((await see(replayPath('powertrack'))).messages).toHaveLength(4);
  });

  it('of type sample10 always delivers the same tenth of all posts, which the operator `sample:10` matches as well', async () => {
    const posts = hourOfPosts(1000).map((post, i) => ({ ...post, at: START + i * SECOND }));
    const { see, replayPath } = await localStreams(posts);
    const [first, second] = [await see(replayPath('sample10')), await see(replayPath('sample10'))];
    const tree = parseRule('sample:10').tree;
    if (tree === undefined) throw new Error('not a rule');
    const isSampled = compileRule(tree, { product: 'replay' });
    expect(idsIn(first.messages)).toEqual(
      posts.filter(({ activity }) => isSampled(activity)).map(({ id }) => id),
    );
    expect(second.text).toBe(first.text);
    expect(first.messages.length).toBeGreaterThan(60);
    expect(first.messages.length).toBeLessThan(150);
  });

  it('of type mentions delivers the posts that mention a user', async () => {
    const archive = openSampleArchive({ now: () => NOW });
    const { see, replayPath } = await localStreams([], { archive });
    const all = await see(replayPath('firehose'));
    const mentioning = await see(replayPath('mentions'));
    const posts: Post[] = all.messages.slice(0, -1).map(message => JSON.parse(message));
    const mentions = (post: Post): boolean =>
      [post.extended_tweet?.entities, post.entities].some(all => all?.user_mentions.length) ||
      // A quoted post counts as a part of the post that quotes it.
      (post.quoted_status !== undefined && mentions(post.quoted_status));
    const expected = posts.filter(mentions);
    expect(idsIn(mentioning.messages)).toEqual(expected.map(post => post.id_str));
    expect(expected.length).toBeGreaterThan(10);
    expect(expected.length).toBeLessThan(posts.length);
  });

  it('of type firehose delivers no matching rules, even if the stored posts contain some', async () => {
    const [post] = hourOfPosts(1);
    if (post === undefined) throw new Error('no post');
    const activity = post.activity.withMatchingRules([{ tag: 'old', id: '9' }]);
    const { see, replayPath } = await localStreams([{ ...post, activity }]);
    const { messages } = await see(replayPath());
    expect(JSON.parse(messages[0] as string).matching_rules).toEqual([]);
  });

  it('of type decahose or any other unknown type gets a 404', async () => {
    const { see, replayPath } = await localStreams();
    for (const type of ['decahose', 'constructor', 'Firehose'])
      expect((await see(replayPath(type))).status).toBe(404);
  });
});

describe('a stream of the local service', () => {
  it('flushes each message before it sends the next', async () => {
    const { open, replayPath } = await localStreams(hourOfPosts(2), { replayPostsPerSecond: 4 });
    const connection = await open(replayPath());
    const text = await connection.until(text => text.includes('\r\n'));
    expect(text.split('\r\n')).toHaveLength(2);
    expect(text).toMatch(/"tea number 0".*\r\n$/);
    expect((await connection.end()).messages).toHaveLength(3);
  });

  it('sends its headers immediately, and a heartbeat after a pause', async () => {
    const slow = hourOfPosts(1);
    const { open, replayPath, archive } = await localStreams(slow, { heartbeatMs: 30 });
    let goOn = () => {};
    const scan = archive.scan.bind(archive);
    archive.scan = async function* (window) {
      await new Promise<void>(resolve => {
        goOn = resolve;
      });
      yield* scan(window);
    };
    const connection = await open(replayPath());
    expect(connection.status).toBe(200);
    expect(await connection.until(text => text.length >= 6)).toMatch(/^(\r\n){3,}$/);
    goOn();
    const { messages, text } = await connection.end();
    expect(messages).toHaveLength(2);
    expect(text).toMatch(/^(\r\n){3,}\{"created_at/);
  });

  it('stops reading the archive when the client disconnects', async () => {
    const { open, replayPath, archive, errors } = await localStreams();
    let left = 0;
    archive.scan = async function* () {
      try {
        for (;;) yield { segment: START, posts: hourOfPosts(60) };
      } finally {
        left++;
      }
    };
    const connection = await open(replayPath());
    await connection.until(text => text.length > 10_000);
    connection.destroy();
    while (left === 0) await setTimeout(5);
    expect(errors).toEqual([]);
  });

  it('ends when the service stops', async () => {
    const { open, replayPath, service, errors } = await localStreams(hourOfPosts(), {
      replayPostsPerSecond: 5,
    });
    const connection = await open(replayPath());
    await connection.until(text => text.includes('\r\n'));
    const [seen] = await Promise.all([connection.end(), service.stop()]);
    expect(seen.complete).toBe(false);
    expect(errors).toEqual([]);
  });

  it('waits for a slow client and loses no message', async () => {
    const { open, replayPath } = await localStreams(largePosts(150));
    const connection = await open(replayPath());
    connection.pause();
    await setTimeout(100);
    connection.resume();
    const { messages, complete } = await connection.end();
    expect([messages.length, complete]).toEqual([151, true]);
  });

  it('does not send faster after a delay, because a burst would overflow the client', async () => {
    const posts = largePosts(30);
    const options = { replayPostsPerSecond: 50, streamBacklogBytes: 500_000 };
    const { see, archive, replayPath } = await localStreams(posts, options);
    archive.scan = async function* () {
      await setTimeout(500);
      yield { segment: START, posts };
    };
    expect((await see(replayPath())).messages).toHaveLength(31);
  });

  it('disconnects a client whose backlog exceeds the limit after it has sent the reason', async () => {
    const options = { replayPostsPerSecond: 1e6, streamBacklogBytes: 500_000 };
    const posts = largePosts(400);
    const { open, replayPath, errors, archive } = await localStreams(posts, options);
    const disconnected = new Promise<void>(done => {
      archive.scan = async function* () {
        try {
          yield { segment: START, posts };
        } finally {
          done();
        }
      };
    });
    const connection = await open(replayPath());
    connection.pause();
    await disconnected;
    connection.resume();
    const { messages } = await connection.end();
    const last = messages.at(-1) as string;
    expect(JSON.parse(last)).toEqual({
      error: {
        message:
          'Force closing connection to local/replay because it reached the maximum allowed backup (buffer size is 500000).',
        sent: '2024-05-15T12:34:56+00:00',
      },
    });
    // Up to the point at which the stream ends, no message is missing.
    expect(idsIn(messages)).toEqual(Array.from({ length: messages.length - 1 }, (_, i) => idOf(i)));
    expect(messages.length).toBeLessThan(400);
    expect(errors).toEqual([]);
  });

  it('resets the connection of a client that never reads', async () => {
    const options = { replayPostsPerSecond: 1e6, streamBacklogBytes: 500_000 };
    const { open, replayPath, service } = await localStreams(largePosts(400), options);
    const connection = await open(replayPath());
    connection.pause();
    const count = () => new Promise<number>(done => service.getConnections((_, n) => done(n)));
    while ((await count()) > 0) await setTimeout(50);
    connection.resume();
    expect((await connection.end()).messages.at(-1)).not.toContain('"info"');
  });
});

interface Post {
  readonly id_str: string;
  readonly entities: Entities;
  readonly extended_tweet?: { readonly entities: Entities };
  readonly quoted_status?: Post;
}

interface Entities {
  readonly user_mentions: readonly object[];
}

/** Creates posts that hardly compress, so that socket buffers fill quickly. */
function largePosts(count: number) {
  const noise = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16));
  const zeros = Buffer.alloc(60_000);
  return Array.from({ length: count }, (_, i) =>
    originalPost(START + i * 1000, idOf(i), noise.update(zeros).toString('base64')),
  );
}
