import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Progress } from '../../src/flow/progress.js';
import { realTime } from '../../src/http/timing.js';
import { JetStreamError } from '../../src/jetstream/jet-stream-errors.js';
import { repeat, type Servers } from '../../src/jetstream/request-tries.js';

const SECOND = 1_000;
const STREAM_MISSING = 10_059;

/** The time since the process started, in milliseconds. Only sleeps advance it. */
let now: number;

beforeEach(() => {
  now = 3_600 * SECOND;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  vi.spyOn(realTime, 'sleep').mockImplementation(async ms => {
    now += ms;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

function failure(code: number | undefined): Error {
  return Object.assign(new Error('no answer'), {
    name: 'JetStreamApiError',
    ...(code === undefined ? { status: 503 } : { status: 404, code }),
  });
}

/**
 * Sends a request for `forMs` milliseconds to servers that fail with `code`, and answers later requests.
 * Returns when the servers were changed, in milliseconds since the first request.
 */
async function run({
  code,
  forMs = Number.POSITIVE_INFINITY,
  isCluster = true,
  maxOutageMs = 60 * SECOND,
}: {
  readonly code?: number;
  readonly forMs?: number;
  readonly isCluster?: boolean;
  readonly maxOutageMs?: number;
}) {
  const start = now;
  const elapsed = () => now - start;
  const progress = new Progress();
  const { signal } = new AbortController();
  const changes: number[] = [];
  let changedAt = 0;
  const servers: Servers = {
    run: { call: 'fromJetStream', signal, progress, cursor: () => undefined },
    maxOutageMs,
    addresses: 'nats://one',
    isCluster,
    causeOf: error => error,
    changeServer(since, afterMs) {
      if (now - Math.max(since, changedAt) < afterMs) return;
      changedAt = now;
      changes.push(elapsed());
    },
  };
  let shownAfterMs: number | undefined;
  const send = async () => {
    if (progress.wait !== undefined) shownAfterMs ??= elapsed();
    if (elapsed() < forMs) throw failure(code);
    return 'answer';
  };
  const result = await repeat(servers, 'read the stream posts', send).catch(error => error);
  return { result, changes, endedAfterMs: elapsed(), shownAfterMs, progress };
}

describe('a request to JetStream', () => {
  it('is repeated until a server answers', async () => {
    const { result, changes, shownAfterMs, progress } = await run({ forMs: 9 * SECOND });
    expect(result).toBe('answer');
    expect(changes).toEqual([]);
    expect(shownAfterMs).toBeGreaterThanOrEqual(SECOND);
    expect(shownAfterMs).toBeLessThan(4 * SECOND);
    expect(progress.wait).toBeUndefined();
  });

  it('is sent to another server every 10 s while it fails', async () => {
    const { changes } = await run({ forMs: 35 * SECOND });
    expect(changes).toHaveLength(3);
    for (const [index, at] of changes.entries()) {
      expect(at).toBeGreaterThanOrEqual((index + 1) * 10 * SECOND);
      expect(at).toBeLessThan((index + 1) * 12 * SECOND);
    }
  });

  it('fails once it has failed for maxOutageMs', async () => {
    const { result, endedAfterMs, progress } = await run({ maxOutageMs: 20 * SECOND });
    expect(result).toBeInstanceOf(JetStreamError);
    expect(result).toMatchObject({ failure: 'outage', retryable: true });
    expect(endedAfterMs).toBeGreaterThan(20 * SECOND);
    expect(endedAfterMs).toBeLessThan(22 * SECOND);
    expect(progress.wait).toBeUndefined();
  });

  it('is sent to another server of the cluster after 2 s without the stream, and fails after 10 s', async () => {
    const { result, changes, endedAfterMs } = await run({ code: STREAM_MISSING });
    expect(result).toMatchObject({ failure: 'stream', retryable: false });
    expect(changes[0]).toBe(2 * SECOND);
    expect(endedAfterMs).toBeGreaterThan(10 * SECOND);
    expect(endedAfterMs).toBeLessThan(11 * SECOND);
    const found = await run({ code: STREAM_MISSING, forMs: 9 * SECOND });
    expect(found.result).toBe('answer');
  });

  it('fails at once if the only server does not have the stream', async () => {
    const { result, endedAfterMs } = await run({ code: STREAM_MISSING, isCluster: false });
    expect(result).toMatchObject({ failure: 'stream' });
    expect(endedAfterMs).toBeLessThan(100);
  });
});
