import { rm } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { IncompleteError, OptionError, StorageError } from '../../src/base/errors.js';
import { formatSent, MINUTE } from '../../src/base/time.js';
import type { Cursor } from '../../src/flow/flow.js';
import type { Activity } from '../../src/post/activity.js';
import { ReplaySpool } from '../../src/replay/replay-spool.js';
import { AT_ONCE_MS } from '../at-once.js';
import {
  COMPLETED,
  info,
  stream,
  WITH_ERRORS,
  wholeReplay,
  windowOf,
  wirePosts,
  within,
} from '../http/live-wire.js';
import { status } from '../http/scripted-server.js';
import { bySuite } from '../suite.js';
import {
  acme,
  collected,
  folder,
  idsOf,
  past,
  posts,
  server,
  setUpReplay,
  timing,
  timingOfProcess,
} from './scripted-replay.js';
import { spoolFilesIn } from './spool-files.js';

setUpReplay();

describe('the consumer of a replay', () => {
  it('does not slow down the connection if the consumer is slow', async () => {
    const window = past(16);
    const sent = wirePosts(window, 40);
    const done: number[] = [];
    server.otherwise = async (response, request) => {
      response.on('finish', () => done.push(1));
      await wholeReplay(sent)(response, request);
    };
    const flow = posts(window, { maxMemory: 10_000, timings: { firstChunkMs: 8 * MINUTE } });
    const got: Activity[] = [];
    for await (const post of flow as AsyncIterable<Activity>) {
      if (got.length === 0) {
        // Both connections must complete although no post is consumed.
        const until = Date.now() + 60_000;
        while (done.length < 2 && Date.now() < until)
          await new Promise(resolve => setTimeout(resolve, 5));
        expect(done.length).toBe(2);
      }
      got.push(post);
    }
    expect(got.map(({ raw }) => raw.toString())).toEqual(sent.map(({ json }) => json));
    expect(await spoolFilesIn(folder)).toEqual([]);
  });

  it('leaves no disk buffer of a broken connection open', async () => {
    const window = past(4);
    const sent = wirePosts(window);
    server.script.push(stream(sent.map(({ json }) => json)), stream(sent.map(({ json }) => json)));
    server.otherwise = wholeReplay(sent);
    expect(idsOf(await collected(posts(window, { maxMemory: 0 })))).toHaveLength(sent.length);
    expect(server.received.length).toBeGreaterThan(2);
    expect(await spoolFilesIn(folder)).toEqual([]);
  });

  it('gets an error immediately if the disk is full', async () => {
    const window = past(4);
    server.otherwise = wholeReplay(wirePosts(window));
    const full = new StorageError('ENOSPC', { path: folder, retryable: true });
    const add = vi.spyOn(ReplaySpool.prototype, 'add').mockRejectedValue(full);
    await expect(collected(posts(window))).rejects.toBe(full);
    expect(server.received.length).toBe(1);
    add.mockRestore();
  });

  it('closes the connection and the disk buffer immediately when it stops early, or aborts during a wait', async () => {
    const window = past(200);
    server.otherwise = wholeReplay(wirePosts(window, 50));
    for await (const _ of posts(window, { maxMemory: 0 })) break;
    expect(await server.closed()).toBeLessThan(AT_ONCE_MS);
    expect(await spoolFilesIn(folder)).toEqual([]);

    server.otherwise = status(503);
    const stop = new AbortController();
    const asleep = acme({
      timing: {
        ...timing,
        sleep: (_ms, signal) =>
          new Promise((_, reject) => {
            signal?.addEventListener('abort', () => reject(signal.reason));
            setTimeout(() => stop.abort(new Error('enough')), 10);
          }),
      },
    });
    const flow = posts(window, {}, asleep).batches({ signal: stop.signal });
    await expect(flow[Symbol.asyncIterator]().next()).rejects.toThrow('enough');
  });

  it('receives each activity exactly once, whichever cursor it resumes from', async () => {
    const window = past(60);
    const sent = wirePosts(window, 2);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(12), { maxLength: 4 }), fc.nat(3), async (stops, seed) => {
        const failed = new Set([window.from + 7 * MINUTE, window.from + (20 + seed) * MINUTE]);
        server.otherwise = async (response, request) => {
          const asked = windowOf(request);
          const bad = [...failed].filter(at => asked.from <= at && at < asked.to);
          for (const at of bad) failed.delete(at);
          const some = within(sent, asked).filter(
            ({ minute }, n) => !bad.includes(minute) || n % 2,
          );
          const end =
            bad.length > 0
              ? info(WITH_ERRORS, some.length, { minutes_failed: bad.map(formatSent) })
              : info(COMPLETED, some.length);
          await stream([...some.map(({ json }) => json), end])(response, request);
        };
        const committed: string[] = [];
        let cursor: Cursor | undefined;
        for (const stop of [...stops, Number.POSITIVE_INFINITY]) {
          let pending: string[] = [];
          let batches = 0;
          for await (const batch of posts(window).batches({ resume: cursor })) {
            pending.push(...idsOf(batch.items as readonly Activity[]));
            if (batch.cursor !== undefined) {
              cursor = JSON.parse(JSON.stringify(batch.cursor));
              committed.push(...pending);
              pending = [];
            }
            if (++batches > stop) break;
          }
          if (stop === Number.POSITIVE_INFINITY) expect(pending).toEqual([]);
        }
        expect(committed.toSorted()).toEqual(idsOf(sent).toSorted());
      }),
      { numRuns: bySuite(3, 12) },
    );
  });

  it('gets the cursor that it resumed from in the error of a replay that gives up', async () => {
    const window = past(4);
    server.otherwise = wholeReplay(wirePosts(window));
    const timings = { firstChunkMs: MINUTE, maxChunkMs: MINUTE };
    let cursor: Cursor | undefined;
    for await (const batch of posts(window, { timings }).batches()) {
      cursor = batch.cursor;
      if (cursor !== undefined) break;
    }
    server.otherwise = status(503);
    const error = await collected(posts(window, { timings, resume: cursor })).catch(
      thrown => thrown,
    );
    expect(error).toBeInstanceOf(IncompleteError);
    expect(error.message).toContain('pass the cursor of this error as `resume`');
    expect(cursor).toBeDefined();
    expect(error.cursor).toEqual(cursor);
  });

  it('cannot resume from a damaged cursor or from one of another replay', async () => {
    const window = past(2);
    server.otherwise = wholeReplay(wirePosts(window));
    let cursor: Cursor | undefined;
    for await (const batch of posts(window).batches()) cursor = batch.cursor ?? cursor;
    const other = posts({ ...window, from: window.from - MINUTE }, { resume: cursor });
    await expect(collected(other)).rejects.toThrow('its fromDate was');
    for (const damage of [{ open: 7 }, { ids: 7 }, { gaps: [{}] }, { source: 'search' }, null]) {
      const damaged = (damage && { ...cursor, ...damage }) as Cursor;
      const run = async () => collected(posts(window, { resume: damaged }));
      const refusal = damaged === null ? /of a batch or of an error/ : / to start again$/;
      await expect(run()).rejects.toThrow(OptionError);
      await expect(run()).rejects.toThrow(refusal);
    }
    const requests = server.received.length;
    expect(await collected(posts(window, { resume: cursor }))).toEqual([]);
    expect(server.received.length).toBe(requests);
  });
});

it('a shard of a replay cannot resume from the cursor of another shard', async () => {
  const window = past(64);
  server.otherwise = wholeReplay(wirePosts(window));
  const cursors: Cursor[] = [];
  for await (const { cursor } of posts(window, { shard: { index: 1, of: 2 } }).batches())
    if (cursor !== undefined) cursors.push(cursor);
  const [resume] = cursors;
  const requests = server.received.length;
  await expect(collected(posts(window, { shard: { index: 2, of: 2 }, resume }))).rejects.toThrow(
    'its shard was "1/2", and now it is "2/2"',
  );
  expect(server.received.length).toBe(requests);
});

describe('the folder for the disk buffer of a replay', () => {
  const timings = { firstChunkMs: MINUTE, maxChunkMs: MINUTE };

  async function deliver(
    flow: ReturnType<typeof posts>,
    resume?: Cursor,
    cursors = Number.POSITIVE_INFINITY,
  ) {
    const ids: string[] = [];
    let last = resume;
    for await (const { items, cursor } of flow.batches({ resume })) {
      ids.push(...idsOf(items as readonly Activity[]));
      if (cursor === undefined) continue;
      last = JSON.parse(JSON.stringify(cursor)) as Cursor;
      if (--cursors === 0) break;
    }
    return { ids, last };
  }

  it('is recreated by the next run if it was deleted between two runs', async () => {
    const window = past(10);
    const sent = wirePosts(window, 2);
    const clock = { now: Date.now() };
    const admitted: number[] = [];
    let refusals = 0;
    server.otherwise = (response, request) => {
      const isFull = admitted.filter(at => at > clock.now - 5 * MINUTE).length >= 5;
      if (isFull) refusals++;
      else admitted.push(clock.now);
      const reply = isFull ? status(429, '', { 'retry-after': '300' }) : wholeReplay(sent);
      return reply(response, request);
    };
    const run = () => posts(window, { timings }, acme({ timing: timingOfProcess(clock) }));
    const first = await deliver(run(), undefined, 3);
    expect(refusals).toBe(0);
    await rm(folder, { recursive: true });
    const second = await deliver(run(), first.last);
    expect(refusals).toBeGreaterThan(0);
    expect([...first.ids, ...second.ids]).toEqual(idsOf(sent));
  });

  it('is named in the error if it is deleted during a run', async () => {
    const window = past(20);
    const sent = wirePosts(window, 2);
    server.otherwise = wholeReplay(sent);
    const ids: string[] = [];
    let last: Cursor | undefined;
    const run = async () => {
      for await (const { items, cursor } of posts(window, { timings }).batches()) {
        ids.push(...idsOf(items as readonly Activity[]));
        if (cursor === undefined) continue;
        last = JSON.parse(JSON.stringify(cursor));
        await rm(folder, { recursive: true, force: true });
      }
    };
    const error = await run().catch(thrown => thrown);
    expect(error).toBeInstanceOf(StorageError);
    expect(error.message).toContain(folder);
    expect(error.message).toContain('The folder is gone');
    const { ids: rest } = await deliver(posts(window, { timings }), last);
    expect(rest.length).toBeGreaterThan(0);
    expect([...ids, ...rest]).toEqual(idsOf(sent));
  });
});
