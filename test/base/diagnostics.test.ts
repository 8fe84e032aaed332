import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import path from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import {
  type BatchMessage,
  type CommitMessage,
  type RequestMessage,
  WatchedRequest,
} from '../../src/base/diagnostics.js';
import { ConnectionError } from '../../src/base/errors.js';
import { HOUR, MINUTE } from '../../src/base/time.js';
import { pipeline } from '../../src/flow/pipeline.js';
import type { RunMessage, RunSummary } from '../../src/flow/progress.js';
import { type Account, account } from '../../src/http/account.js';
import { dedupe } from '../../src/operators/dedupe.js';
import type { Activity } from '../../src/post/activity.js';
import { replay } from '../../src/replay/replay.js';
import { search } from '../../src/search/search.js';
import { createService, type Service } from '../../src/service/index.js';
import { collect } from '../../src/sinks/collect.js';
import { committed } from '../../src/sinks/committed.js';
import { files } from '../../src/sinks/files.js';
import { temporaryFolder } from '../temporary-folder.js';

let service: Service;
let acme: Account;
let folder: string;

beforeEach(async () => {
  service = createService({ limits: 'relaxed', postsPerMinute: 30 });
  acme = account(await service.start(), {});
  folder = await temporaryFolder();
});
afterEach(() => service.stop());

/**
 * Records the messages of these channels until the test ends. `shown` is a copy of a message, made
 * when the message was published.
 */
function messagesOf(...names: readonly string[]) {
  const messages: { readonly name: string; readonly message: object; readonly shown: object }[] =
    [];
  for (const name of names) {
    const listen = (message: unknown) =>
      messages.push({ name, message: message as object, shown: { ...(message as object) } });
    subscribe(name, listen);
    onTestFinished(() => {
      unsubscribe(name, listen);
    });
  }
  return messages;
}

const REQUESTS = ['start', 'end', 'error'].map(name => `millrace:request:${name}`);
const RUNS = ['start', 'end', 'error'].map(name => `millrace:run:${name}`);

function query(pages: number) {
  const now = service.clock.now();
  const [fromDate, toDate] = [new Date(now - 3 * HOUR), new Date(now - HOUR)];
  return {
    product: '30day',
    query: 'coffee OR rain',
    fromDate,
    toDate,
    maxResults: 10,
    pages,
  } as const;
}

describe('diagnostics channels', () => {
  it('publish the start and the end of a request with the same object, without the query', async () => {
    const messages = messagesOf(...REQUESTS);
    const posts = await pipeline(search(acme, query(3)), collect());
    expect(posts).toHaveLength(30);
    expect(messages.map(({ name }) => name)).toEqual(
      Array.from({ length: 3 }, () => REQUESTS.slice(0, 2)).flat(),
    );
    const [start, end] = messages;
    expect(end?.message).toBe(start?.message);
    const { url } = start!.shown as RequestMessage;
    expect(start?.shown).toEqual({ method: 'POST', url: expect.stringMatching(/\.json$/) });
    expect(end?.shown).toEqual({
      method: 'POST',
      url,
      status: 200,
      receivedBytes: expect.any(Number),
      durationMs: expect.any(Number),
    });
    expect((end!.shown as RequestMessage).receivedBytes).toBeGreaterThan(1_000);
    expect(JSON.stringify(messages)).not.toContain('local-service');
  });

  it('publish a failed request, its retry, and the wait before the retry', async () => {
    service.faults.plant({ kind: 'status', status: 503, times: 1, endpoint: 'search' });
    const messages = messagesOf(...REQUESTS, 'millrace:retry', 'millrace:wait');
    await pipeline(search(acme, query(1)), collect());
    expect(messages.map(({ name }) => name)).toEqual([
      ...[REQUESTS[0], REQUESTS[2], 'millrace:retry', 'millrace:wait', REQUESTS[0], REQUESTS[1]],
    ]);
    expect(messages[1]?.shown).toMatchObject({ status: 503, error: expect.any(Error) });
    expect(messages[2]?.shown).toMatchObject({ attempts: 1, waitMs: expect.any(Number) });
    expect(messages[3]?.shown).toMatchObject({ reason: 'retry', until: expect.any(Date) });
  });

  it.each(REQUESTS)('publish requests even if only the %s channel has a listener', async name => {
    service.faults.plant({ kind: 'cut', afterBytes: 100, endpoint: 'search' });
    const messages = messagesOf(name);
    await pipeline(search(acme, query(1)), collect());
    // The first request was cut off, so it is sent twice.
    expect(messages.length).toBe(name === REQUESTS[0] ? 2 : 1);
  });

  it('publish the error and the received bytes of a request whose body was cut', async () => {
    service.faults.plant({ kind: 'cut', afterBytes: 1_000, endpoint: 'search' });
    const messages = messagesOf(...REQUESTS);
    await pipeline(search(acme, query(1)), collect());
    expect(messages.map(({ name }) => name)).toEqual([
      ...[REQUESTS[0], REQUESTS[2], REQUESTS[0], REQUESTS[1]],
    ]);
    expect(messages[1]?.shown).toMatchObject({
      status: 200,
      receivedBytes: 1_000,
      error: expect.any(ConnectionError),
    });
  });

  it('publish the end of a request only once', () => {
    const messages = messagesOf(...REQUESTS);
    const watched = WatchedRequest.start('GET', new URL('https://example.com/a?b=c'));
    watched?.end(200, 5);
    watched?.fail(new Error('late'));
    watched?.end(200, 5);
    expect(messages.map(({ name }) => name)).toEqual(REQUESTS.slice(0, 2));
  });

  it('publish the end of each connection of a replay', async () => {
    const now = service.clock.now();
    const messages = messagesOf(...REQUESTS);
    const [fromDate, toDate] = [new Date(now - HOUR), new Date(now - 50 * MINUTE)];
    await pipeline(replay(acme, { streamType: 'firehose', fromDate, toDate, folder }), collect());
    const ends = messages.filter(({ name }) => name === REQUESTS[1]);
    expect(ends.map(({ shown }) => shown)).toContainEqual(
      expect.objectContaining({ status: 200, url: expect.stringMatching(/\/replay\/.*\.json$/) }),
    );
  });

  describe('during a run', () => {
    let messages: ReturnType<typeof messagesOf>;
    let checkpoint: string;
    let written: { readonly posts: number; readonly bytes: number };
    beforeEach(async () => {
      messages = messagesOf('millrace:batch', 'millrace:commit', 'millrace:file', ...RUNS);
      checkpoint = path.join(folder, 'checkpoint.json');
      const sink = files({ path: path.join(folder, 'posts.jsonl'), checkpoint });
      written = await pipeline(search(acme, query(2)), dedupe(), sink);
    });
    const of = (name: string) =>
      messages.filter(message => message.name === `millrace:${name}`).map(({ shown }) => shown);

    it('publish its batches', () => {
      expect(of('batch')).toEqual([
        { items: 10, hasCursor: true },
        { items: 10, hasCursor: expect.any(Boolean) },
      ]);
    });

    it('publish its commits', () => {
      expect(of('commit').at(-1)).toMatchObject({ checkpoint, durationMs: expect.any(Number) });
      expect(of('commit')).toContainEqual(expect.objectContaining({ files: 1 }));
    });

    it('publish its finished files', () => {
      const { posts, bytes } = written;
      expect(of('file')).toEqual([{ path: path.join(folder, 'posts.jsonl'), posts, bytes }]);
    });

    it('publish its start and its end', () => {
      expect(of('run:start')).toEqual([{}]);
      expect(of('run:end')).toMatchObject([
        { state: 'complete', written: written.posts, files: 1 },
      ]);
      expect(messages.at(-1)?.message).toBe(messages[0]?.message);
    });
  });

  it('publish the batches of a source that has no cursors', async () => {
    const messages = messagesOf('millrace:batch');
    await pipeline(Readable.from(['a', 'b']), collect());
    expect(messages.map(({ shown }) => (shown as BatchMessage).hasCursor)).not.toContain(true);
    expect(messages.length).toBeGreaterThan(0);
  });

  it('publish the commits of a `committed` sink', async () => {
    const messages = messagesOf('millrace:commit');
    const rows: Activity[] = [];
    let saved: string | undefined;
    const sink = committed<Activity>({
      name: 'a list',
      load: () => saved,
      save: text => {
        saved = text;
      },
      write: posts => void rows.push(...posts),
    });
    await pipeline(search(acme, query(2)), dedupe(), sink);
    const commits = messages.map(({ shown }) => shown as CommitMessage);
    expect(commits[0]).toEqual({
      checkpoint: 'a list',
      rows: expect.any(Number),
      durationMs: expect.any(Number),
    });
    expect(commits.reduce((sum, { rows = 0 }) => sum + rows, 0)).toBe(rows.length);
  });

  it('of undici publish the requests that the library sends', async () => {
    const messages = messagesOf('undici:request:create');
    await pipeline(search(acme, query(1)), collect());
    expect(messages.length).toBe(1);
  });
});

describe('the summary of a run', () => {
  it('counts the requests, posts and waits of a run that succeeds or fails', async () => {
    service.faults.plant({ kind: 'status', status: 503, times: 1, endpoint: 'search' });
    const summaries: RunSummary[] = [];
    const onSummary = (summary: RunSummary) => summaries.push(summary);
    const sink = files({ path: path.join(folder, '{minute}.jsonl') });
    const { posts, files: written } = await pipeline(search(acme, query(2)), dedupe(), sink, {
      onSummary,
    });
    expect(summaries[0]).toEqual({
      state: 'complete',
      received: 20,
      written: posts,
      files: written.length,
      requests: 3,
      retries: 1,
      waits: 1,
      dropped: new Map(),
      receivedBytes: expect.any(Number),
      writtenBytes: expect.any(Number),
      waitedMs: expect.any(Number),
      durationMs: expect.any(Number),
    });
    expect(summaries[0]?.waitedMs).toBeGreaterThan(0);
    expect(summaries[0]?.durationMs).toBeGreaterThanOrEqual(summaries[0]?.waitedMs ?? 0);
    const messages = messagesOf(...RUNS);
    service.faults.plant({ kind: 'status', status: 401, times: 1, endpoint: 'search' });
    const failed = pipeline(search(acme, query(1)), collect(), { onSummary });
    const error = await failed.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(Error);
    expect(summaries[1]).toMatchObject({ state: 'failed', error, requests: 1, files: 0 });
    const { error: published } = messages[1]!.message as RunMessage;
    expect(published).toBe(error);
    expect(messages.map(({ name }) => name)).toEqual([RUNS[0], RUNS[2]]);
  });

  it('is passed to `onSummary` only once, and an error of `onSummary` does not replace an error of the run', async () => {
    let calls = 0;
    const onSummary = () => {
      calls++;
      throw new Error('of the callback');
    };
    const numbers = async function* () {
      yield 1;
    };
    await expect(pipeline(numbers(), collect(), { onSummary })).rejects.toThrow('of the callback');
    expect(calls).toBe(1);
    const broken = async function* (): AsyncGenerator<number> {
      yield 1;
      throw new Error('of the run');
    };
    await expect(pipeline(broken(), collect(), { onSummary })).rejects.toThrow('of the run');
    expect(calls).toBe(2);
  });
});
