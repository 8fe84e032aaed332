import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import {
  type Activity,
  activities,
  collect,
  completeness,
  compliance,
  counts,
  Flow,
  files,
  gunzip,
  HttpError,
  IncompleteError,
  intoTombstones,
  jsonLines,
  localFiles,
  openTombstones,
  pipeline,
  type ReplayOptions,
  RulesError,
  replay,
  replayRules,
  withoutDeleted,
} from 'millrace';
import type { Fault } from 'millrace/service';
import { beforeEach, describe, expect, it } from 'vitest';
import { formatTimestamp, HOUR, MINUTE, type Window } from '../../src/base/time.js';
import { bySuite } from '../suite.js';
import {
  acme as accountOf,
  folder,
  service,
  setUpServiceReplay,
  startService,
} from './replay-of-service.js';
import { spoolFilesIn } from './spool-files.js';

const MINUTES = 20;
let window: Window;

setUpServiceReplay({ postsPerMinute: 10 });
beforeEach(() => {
  const to = Math.floor(service.clock.now() / MINUTE) * MINUTE - 2 * HOUR;
  window = { from: to - MINUTES * MINUTE, to };
});

const acme = () => accountOf({ timeouts: { connectMs: 5_000, responseMs: 5_000, silenceMs: 400 } });

function posts(options: Partial<ReplayOptions> = {}) {
  return replay(acme(), {
    streamType: 'firehose',
    fromDate: new Date(window.from),
    toDate: new Date(window.to),
    folder,
    timings: { firstChunkMs: 8 * MINUTE },
    ...(options as object),
  });
}

/** Returns digests instead of bytes, so that failure messages stay readable. */
const rawOf = async (flow = posts()) =>
  (await collect<{ raw: Buffer }>()(flow)).map(({ raw }) => digest(raw));

function digest(raw: Uint8Array): string {
  const [, id] = /"id_str":"(\d+)"/.exec(String(raw)) ?? [];
  return `${id} ${createHash('sha256').update(raw).digest('hex').slice(0, 8)}`;
}

describe('a replay of the local service', () => {
  it('writes hourly files with exactly the counted posts', async () => {
    const target = path.join(folder, 'out');
    // Rules also match the post that a post quotes, but searches and counts do not. Therefore, the
    // query excludes quotes.
    const query = '(coffee OR rain OR music OR #music OR snow) -is:quote';
    await replayRules.add(acme(), [{ value: query, tag: 't' }]);
    const written = await pipeline(
      posts({ streamType: 'rulestream' } as object),
      files({ path: `${target}/{hour}.jsonl.gz`, checkpoint: `${target}/checkpoint.json` }),
    );
    expect(written.posts).toBeGreaterThan(3);
    const check = await pipeline(
      localFiles(target, { match: name => name.endsWith('.gz') }),
      gunzip(),
      jsonLines(),
      activities(),
      completeness(
        counts(acme(), {
          product: '30day',
          query,
          bucket: 'minute',
          fromDate: new Date(window.from),
          toDate: new Date(window.to),
        }),
      ),
    );
    expect(check).toMatchObject({ complete: true, received: written.posts, differing: [] });
  });

  it.each([
    ['a reset within a message', { kind: 'content-cut', afterMessages: 7, within: 'message' }],
    [
      'a cut within a character',
      { kind: 'content-cut', afterMessages: 3, within: 'character', end: 'close' },
    ],
    [
      'a normal end without the last message',
      { kind: 'content-cut', afterMessages: 9, end: 'finish' },
    ],
    ['a cut within the gzip data', { kind: 'cut', afterBytes: 3001, endpoint: 'replay' }],
    ['a wrong byte', { kind: 'flip', atByte: 2000, endpoint: 'replay' }],
    ['silence', { kind: 'stall', afterBytes: 2000, endpoint: 'replay' }],
    ['a wrong count', { kind: 'wrong-count', by: -1 }],
    ['a 503', { kind: 'status', status: 503, times: 3, endpoint: 'replay' }],
    ['a 429', { kind: 'status', status: 429, retryAfter: 300, endpoint: 'replay' }],
  ] as readonly (readonly [string, Fault])[])(
    'delivers the same posts after %s',
    async (_, fault) => {
      const whole = await rawOf();
      expect(whole.length).toBeGreaterThan(100);
      service.faults.plant(fault);
      // A range that is requested again may arrive after later ranges.
      expect((await rawOf()).toSorted()).toEqual(whole.toSorted());
      expect(service.faults.list().every(planted => planted.hits > 0)).toBe(true);
    },
  );

  it.each(['none', 'part'] as const)(
    'requests failed minutes again even if the service delivered %s of their posts',
    async deliver => {
      const whole = await rawOf();
      const minutes = [3, 4, 9].map(n => formatTimestamp(window.from + n * MINUTE));
      service.faults.plant({ kind: 'minutes-failed', minutes, deliver, times: 2 });
      service.faults.plant({
        kind: 'unprocessed-range',
        fromDate: formatTimestamp(window.from + 12 * MINUTE),
        deliver,
      });
      expect((await rawOf()).toSorted()).toEqual(whole.toSorted());
    },
  );

  it('does not wait for a connection limit that the service does not enforce', async () => {
    const waits: string[] = [];
    const timings = { firstChunkMs: MINUTE, maxChunkMs: MINUTE };
    await collect()(posts({ timings, onWait: ({ reason }) => waits.push(reason) }));
    expect(waits).toEqual([]);
  });

  it('reports the minutes that the service never delivers as gaps', async () => {
    const minute = formatTimestamp(window.from + 5 * MINUTE);
    service.faults.plant({ kind: 'minutes-failed', minutes: [minute], times: 'always' });
    const got: unknown[] = [];
    const error = await (async () => {
      for await (const post of posts()) got.push(post);
    })().catch(e => e);
    expect(error).toBeInstanceOf(IncompleteError);
    expect(error.missing.join()).toContain(minute);
    expect(got.length).toBeGreaterThan(100);
  });

  it('delivers every post exactly once despite any faults and restarts', async () => {
    const whole = await rawOf();
    const anyFault: fc.Arbitrary<Fault> = fc.oneof(
      fc.record({
        kind: fc.constant('content-cut' as const),
        afterMessages: fc.nat(120),
        within: fc.constantFrom('message' as const, 'character' as const, 'boundary' as const),
        end: fc.constantFrom('reset' as const, 'close' as const, 'finish' as const),
        skip: fc.nat(2),
      }),
      fc.record({
        kind: fc.constant('cut' as const),
        endpoint: fc.constant('replay' as const),
        afterBytes: fc.nat(30_000),
        skip: fc.nat(2),
      }),
      fc.record({
        kind: fc.constant('status' as const),
        endpoint: fc.constant('replay' as const),
        status: fc.constantFrom(503, 429, 500),
        skip: fc.nat(2),
      }),
      fc.record({
        kind: fc.constant('minutes-failed' as const),
        minutes: fc
          .uniqueArray(fc.nat(MINUTES - 1), { minLength: 1, maxLength: 5 })
          .map(list => list.map(n => formatTimestamp(window.from + n * MINUTE))),
        deliver: fc.constantFrom('none' as const, 'part' as const),
        times: fc.integer({ min: 1, max: 2 }),
      }),
      fc.record({ kind: fc.constant('wrong-count' as const), by: fc.constantFrom(-1, 3) }),
    );
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(anyFault, { maxLength: 4 }), fc.nat(6), async (faults, stop) => {
        service.faults.clear();
        for (const fault of faults) service.faults.plant(fault);
        const target = path.join(folder, `run-${run++}`);
        const sink = () =>
          files<{ raw: Buffer }>({
            path: () => `${target}/all.jsonl`,
            commitIntervalMs: 0,
            checkpoint: `${target}/checkpoint.json`,
            line: ({ raw }) => raw,
          });
        // The first run stops after some batches. Its commits are kept.
        const until = (last: number) =>
          new Flow<{ raw: Buffer }>(async function* (run) {
            let batches = 0;
            for await (const batch of posts().batches(run)) {
              if (batches++ > last) throw new Error('a crash');
              yield batch;
            }
          });
        await pipeline(until(stop), sink()).catch(() => {});
        await pipeline(until(Number.POSITIVE_INFINITY), sink());
        const text = await readFile(`${target}/all.jsonl`, 'utf8');
        expect(
          text
            .trimEnd()
            .split('\n')
            .map(line => digest(Buffer.from(line)))
            .toSorted(),
        ).toEqual(whole.toSorted());
      }),
      { numRuns: bySuite(2, 50) },
    );
  });

  it('buffers posts on disk for a slow consumer', async () => {
    const whole = await rawOf();
    service.faults.plant({ kind: 'flood', endpoint: 'replay', times: 'always' });
    const got: string[] = [];
    for await (const post of posts({ maxMemory: 1_000 } as object) as AsyncIterable<{
      raw: Buffer;
    }>) {
      if (got.length % 100 === 0) await new Promise(resolve => setTimeout(resolve, 20));
      got.push(digest(post.raw));
    }
    expect(got).toEqual(whole);
    expect(await spoolFilesIn(folder)).toEqual([]);
  });
});

describe('replay rules of the local service', () => {
  const RAIN_AND_SNOW = [{ value: 'snow', tag: 'w' }, { value: 'rain' }];
  const listOf = (of: ReturnType<typeof acme>) => collect()(replayRules.list(of));

  it('get ids when they are added', async () => {
    const added = await replayRules.add(acme(), RAIN_AND_SNOW);
    expect(added.every(({ created, id }) => created && /^\d{15,}$/.test(id ?? ''))).toBe(true);
  });

  it('are not added twice', async () => {
    const of = acme();
    await replayRules.add(of, RAIN_AND_SNOW);
    const [again] = await replayRules.add(of, [{ value: 'snow' }]);
    expect(again).toMatchObject({
      created: false,
      reason: 'A rule with this value already exists',
    });
  });

  it('are listed with the values and tags they were added with', async () => {
    const of = acme();
    const added = await replayRules.add(of, RAIN_AND_SNOW);
    expect(await listOf(of)).toEqual(added.map(({ value, tag, id }) => ({ value, tag, id })));
  });

  it('can be fetched by id', async () => {
    const of = acme();
    const added = await replayRules.add(of, RAIN_AND_SNOW);
    const listed = await listOf(of);
    expect(await replayRules.get(of, [added[1]?.id ?? ''])).toEqual([listed[1]]);
  });

  it('are rejected with a reason if they are invalid', async () => {
    const error = await replayRules
      .add(acme(), [{ value: 'ok' }, { value: '-only' }])
      .catch(e => e);
    expect(error).toBeInstanceOf(RulesError);
    expect(error.results[1].reason).toBeTypeOf('string');
  });

  it('can be validated, which reports each rule as valid or not', async () => {
    const verdicts = await replayRules.validate(acme(), [{ value: 'has:vidoes' }, { value: 'ok' }]);
    expect(verdicts.map(({ valid }) => valid)).toEqual([false, true]);
  });

  it('are changed by syncRules until they equal a list', async () => {
    const of = acme();
    await replayRules.add(of, RAIN_AND_SNOW);
    const wanted = [{ value: 'snow', tag: 'x' }, { value: 'ice' }];
    expect(await replayRules.sync(of, wanted)).toMatchObject({ applied: true, unchanged: 0 });
    expect(await listOf(of)).toMatchObject([
      { value: 'ice', tag: null },
      { value: 'snow', tag: 'x' },
    ]);
  });

  it('can be deleted by value', async () => {
    const of = acme();
    await replayRules.add(of, [{ value: 'ice' }]);
    expect(await replayRules.delete(of, [{ value: 'ice' }, { value: 'Ice' }])).toMatchObject([
      { deleted: true },
      { deleted: false },
    ]);
  });

  it('cannot change while a replay runs', async () => {
    await service.stop();
    await startService({ replayPostsPerSecond: 20 });
    const of = acme();
    await replayRules.add(of, [{ value: 'lang:en OR lang:es' }]);
    const stop = new AbortController();
    const flow = posts({ streamType: 'rulestream' } as object).batches({ signal: stop.signal });
    const running = flow[Symbol.asyncIterator]().next();
    running.catch(() => {});
    let error: unknown;
    for (let tries = 0; tries < 100 && error === undefined; tries++) {
      await new Promise(resolve => setTimeout(resolve, 2));
      error = await replayRules.add(of, [{ value: `snow ${tries}` }]).then(
        () => undefined,
        e => e,
      );
    }
    expect(error).toBeInstanceOf(HttpError);
    expect((error as HttpError).message).toContain('while a replay of the stream is connected');
    stop.abort(new Error('enough'));
    await expect(running).rejects.toThrow('enough');
  });
});

describe('compliance events of the local service', () => {
  it('are stored as tombstones that remove deleted posts from a flow', async () => {
    const whole = await collect<Activity>()(posts());
    const victim = whole[5]?.id ?? '';
    const tombstones = await openTombstones(path.join(folder, 'tombstones'));
    const stop = new AbortController();
    const keeping = pipeline(compliance(acme(), { folder }), intoTombstones(tombstones), {
      signal: stop.signal,
    }).catch((error: Error) => error.message);
    while (tombstones.post(victim) === undefined) {
      service.compliance.inject({
        delete: { status: { id_str: victim, user_id_str: '1' }, timestamp_ms: '1432228155593' },
      });
      await new Promise(resolve => setTimeout(resolve, 20));
    }
    stop.abort(new Error('enough'));
    expect(await keeping).toBe('enough');
    const left = await collect<Activity>()(
      withoutDeleted(tombstones)(
        (async function* () {
          yield* whole;
        })(),
      ),
    );
    // Retweets of the post are removed with it.
    const others = whole.filter(({ id, retweeted }) => ![id, retweeted?.id].includes(victim));
    expect(left.map(({ id }) => id)).toEqual(others.map(({ id }) => id));
    await tombstones.close();
  });
});
