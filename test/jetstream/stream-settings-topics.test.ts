import fc from 'fast-check';
import { Activity, collect, Flow, pipeline } from 'millrace';
import {
  type FromJetStreamOptions,
  fromJetStream,
  type ToJetStreamOptions,
  toJetStream,
} from 'millrace/jetstream';
import { describe, expect, it } from 'vitest';
import { countSubjects, subjectNumber, subjectsOf } from '../../src/jetstream/stream-settings.js';
import { connecting } from './connecting.js';
import { hasNatsServer, type NatsNode, startNode } from './nats-server.js';
import { numberedId } from './numbered-posts.js';

const LANGUAGES = ['en', 'es', 'fr', 'und'];

function post(number: number): Activity {
  const lang = LANGUAGES[number % LANGUAGES.length];
  return new Activity(
    Buffer.from(
      `{"created_at":"Wed Jan 31 23:59:00 +0000 2024","id":${numberedId(number)},"lang":"${lang}"}`,
    ),
  );
}

const TOTAL = 400;

function source(before?: (from: number) => void): Flow<Activity> {
  return new Flow(
    async function* ({ resume }) {
      for (let from = Number(resume?.at ?? 0); from < TOTAL; from += 20) {
        before?.(from);
        yield {
          items: Array.from({ length: 20 }, (_, index) => post(from + index)),
          cursor: { at: from + 20 },
        };
      }
    },
    undefined,
    [{ step: 'languages' }],
  );
}

function idsOf(...languages: string[]): string[] {
  const numbers = Array.from({ length: TOTAL }, (_, number) => number);
  return numbers
    .filter(number => languages.includes(LANGUAGES[number % LANGUAGES.length] as string))
    .map(numberedId)
    .toSorted();
}

const to = ({ url }: NatsNode) => ({
  connection: connecting(url),
  stream: 'posts',
  subject: 'posts',
  topics: ['es', 'en'],
  topic: (post: Activity) => post.lang,
  create: { maxBytes: 64 << 20, shards: 2, duplicateWindowMs: 1000 },
});

async function read({ url }: NatsNode, options: Partial<FromJetStreamOptions>): Promise<string[]> {
  const from = fromJetStream({
    connection: connecting(url),
    stream: 'posts',
    until: 'caught up',
    ...options,
  });
  return (await pipeline(from, collect())).map(({ id }) => id).toSorted();
}

describe.skipIf(!hasNatsServer).concurrent('the subjects of a topic', () => {
  it('receive each post of their language exactly once, even after an aborted run', async () => {
    await using node = await startNode();
    const stop = new AbortController();
    const stopped = pipeline(
      source(from => {
        if (from === 200) stop.abort(new Error('stopped'));
      }),
      toJetStream({ ...to(node), commitIntervalMs: 0, maxInFlight: 8 }),
      { signal: stop.signal },
    );
    await expect(stopped).rejects.toThrow('stopped');
    // The order of the topics does not matter.
    const again = { ...to(node), topics: ['en', 'es'] };
    expect(await pipeline(source(), toJetStream(again))).toMatchObject({ posts: TOTAL });
    expect(await read(node, { subject: 'posts.en' })).toEqual(idsOf('en'));
    expect(await read(node, { subject: 'posts.es' })).toEqual(idsOf('es'));
    expect(await read(node, { subject: 'posts.other' })).toEqual(idsOf('fr', 'und'));
    expect(await read(node, { subjects: 'posts.>' })).toEqual(idsOf(...LANGUAGES));
    const shards = [1, 2].map(index => ({ subject: 'posts.en', shard: { index, of: 2 } }));
    const parts = await Promise.all(shards.map(shard => read(node, shard)));
    expect(parts.flat().toSorted()).toEqual(idsOf('en'));
  });

  it('receive each post exactly once after a run that committed nothing', async () => {
    await using node = await startNode();
    const stop = new AbortController();
    let sent = 0;
    const options = { ...to(node), commitIntervalMs: 600_000 };
    const stopped = pipeline(source(), toJetStream(options), {
      signal: stop.signal,
      progress: ({ written }) => {
        sent = written;
        if (written > 0) stop.abort(new Error('stopped'));
      },
    });
    await stopped.catch(error => expect(error).toMatchObject({ message: 'stopped' }));
    await new Promise(resolve => setTimeout(resolve, 1500));
    expect(await pipeline(source(), toJetStream(to(node)))).toMatchObject({ posts: TOTAL });
    expect(await read(node, { subjects: 'posts.>' })).toEqual(idsOf(...LANGUAGES));
    expect(sent).toBeGreaterThan(0);
  });

  it('must exist in the stream', async () => {
    await using node = await startNode();
    await pipeline(source(), toJetStream(to(node)));
    const { create: _, ...others } = to(node);
    for (const wrong of [
      { ...others, topics: ['en'] },
      { ...others, topics: ['en', 'es', 'fr'] },
      { connection: connecting(node.url), stream: 'posts', subject: 'posts' },
    ])
      await expect(
        pipeline(source(), toJetStream({ ...wrong, name: 'another' })),
      ).rejects.toMatchObject({
        failure: 'stream',
        message: expect.stringContaining('posts.en.0'),
      });
  });
});

describe('the `topics` option of toJetStream', () => {
  const topic = () => 'en';
  it.each([
    [{ topics: ['en'] }, /`topic` is missing/],
    [{ topic }, /`topics` is missing/],
    [{ topics: [], topic }, /an array of words/],
    [{ topics: ['en.gb'], topic }, /an array of words/],
    [{ topics: ['en', 'en'], topic }, /must not have a topic twice/],
    [{ topics: ['other'], topic }, /must not have `other`/],
    [
      {
        topics: Array.from({ length: 32 }, (_, number) => `t${number}`),
        topic,
        create: { maxBytes: 1 << 20 },
      },
      /at most 256/,
    ],
  ])('causes an error if it is invalid: %o', (wrong, message) => {
    const connection = () => Promise.reject(new Error('connected'));
    const needed = { connection, stream: 'posts', subject: 'posts' };
    const options: ToJetStreamOptions<Activity> = { ...needed, ...wrong };
    expect(() => toJetStream(options)).toThrow(message);
  });

  const anyTopics = fc
    .uniqueArray(fc.stringMatching(/^[a-z]{1,3}$/), { minLength: 1, maxLength: 5 })
    .map(topics => ({ topics, names: [...topics.toSorted(), 'other'] }));
  const anyShards = fc.integer({ min: 1, max: 9 });
  const subjectsOfAll = (names: readonly string[], shards: number) =>
    subjectsOf(
      names.map(name => `posts.${name}`),
      shards,
    );

  it('requires the same number of subjects for every topic', () => {
    fc.assert(
      fc.property(anyTopics, anyShards, ({ topics, names }, shards) => {
        const all = subjectsOfAll(names, shards);
        expect(countSubjects('posts', all.toReversed(), topics)).toBe(shards);
        expect(countSubjects('posts', all.slice(1), topics)).toBeUndefined();
        expect(countSubjects('posts', [...all, 'posts.0'], topics)).toBeUndefined();
        expect(countSubjects(`posts.${names[0]}`, all)).toBe(shards);
      }),
    );
  });

  it('distributes the posts of a topic over the subjects of the topic by post id', () => {
    fc.assert(
      fc.property(anyTopics, anyShards, fc.nat(5), fc.nat(), ({ names }, shards, number, id) => {
        const all = subjectsOfAll(names, shards);
        const topic = number % names.length;
        const subject = all[subjectNumber(`${id}`, all.length, topic, names.length)];
        const inTopic = subjectNumber(`${id}`, shards);
        expect(subject).toBe(`posts.${names[topic]}.${inTopic}`);
      }),
    );
  });
});

describe('the numbered subjects of a stream', () => {
  it('are counted as shards only if they are numbered from 0', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.nat(39), (count, gone) => {
        const all = subjectsOf(['posts'], count);
        expect(countSubjects('posts', [...all, 'other'].toReversed())).toBe(count);
        const broken = all.filter((_, number) => number !== gone);
        if (gone < count - 1) expect(countSubjects('posts', broken)).toBeUndefined();
      }),
    );
    for (const others of [[], ['posts'], ['posts.*'], ['posts.0', 'posts.*'], ['posts.0.1']])
      expect(countSubjects('posts', others)).toBeUndefined();
  });

  it.each([2, 8, 16, 100])('receive about the same number of posts each if there are %i', count => {
    const posts = Array.from({ length: count }, () => 0);
    const total = 2000 * count;
    for (let number = 0; number < total; number++) {
      const subject = subjectNumber(numberedId(number), count);
      posts[subject] = (posts[subject] ?? 0) + 1;
    }
    for (const one of posts) {
      expect(one).toBeGreaterThan(1600);
      expect(one).toBeLessThan(2400);
    }
  });
});
