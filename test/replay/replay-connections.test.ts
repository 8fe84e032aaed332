import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { StorageError } from '../../src/base/errors.js';
import { DAY, MINUTE, type Window } from '../../src/base/time.js';
import { ResponseHandler } from '../../src/http/response-handler.js';
import { ConnectLog } from '../../src/replay/connect-log.js';
import { COMPLETED, info, stream, wholeReplay, wirePosts } from '../http/live-wire.js';
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

setUpReplay();

/**
 * Creates a timing that does not wait. For the connections that `isSlow` selects, `part` takes 5 s
 * on this timing.
 */
function slowConnections(
  part: 'to store their times' | 'to open',
  isSlow: (index: number) => boolean,
) {
  let now = Date.now();
  let count = 0;
  const pass = () => {
    if (isSlow(count++)) now += 5_000;
  };
  const { add } = ConnectLog.prototype;
  const { onRequestStart } = ResponseHandler.prototype;
  if (part === 'to store their times')
    vi.spyOn(ConnectLog.prototype, 'add').mockImplementation(async function (this: ConnectLog, at) {
      await add.call(this, at);
      pass();
    });
  else
    vi.spyOn(ResponseHandler.prototype, 'onRequestStart').mockImplementation(function (
      this: ResponseHandler,
      controller,
    ) {
      pass();
      onRequestStart.call(this, controller);
    });
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
  return {
    now: () => now,
    elapsed: () => now,
    random: () => 0.5,
    async sleep(ms: number) {
      now += ms;
    },
  };
}

describe('the limit of 5 replay connections in 5 minutes', () => {
  it('is respected within one run', async () => {
    const window = past(200);
    server.otherwise = wholeReplay(wirePosts(window, 1));
    await collected(posts(window, { timings: { maxChunkMs: 16 * MINUTE } }));
    expect(server.received.length).toBe(13);
    // The run itself takes some real time, which shortens its waits.
    const sleptMs = timing.slept.reduce((sum, ms) => sum + ms, 0);
    expect(sleptMs).toBeGreaterThan(1.5 * 300_000);
  });

  it.each([
    ['to store their times', (index: number) => index % 4 === 0],
    // Of every seven connections, the third is slow. The next run may connect when that connection
    // no longer counts towards the limit.
    ['to open', (index: number) => index % 7 === 2],
  ] as const)('is respected if some connections take seconds %s', async (part, isSlow) => {
    const window = past(200);
    const slow = slowConnections(part, isSlow);
    const arrived: number[] = [];
    const answer = wholeReplay(wirePosts(window, 1));
    server.otherwise = (...exchange) => {
      arrived.push(slow.now());
      return answer(...exchange);
    };
    const middle = window.from + 100 * MINUTE;
    const runs: [Window, number][] = [
      [{ ...window, to: middle }, 0],
      // The monotonic clock of the second run is a day ahead, so by that clock the connections of
      // the first run no longer count. Only the times in the connection log limit the second run.
      [{ ...window, from: middle }, DAY],
    ];
    for (const [half, aheadMs] of runs) {
      const of = acme({ timing: { ...slow, elapsed: () => slow.now() + aheadMs } });
      await collected(posts(half, { timings: { maxChunkMs: 16 * MINUTE } }, of));
    }
    expect(arrived.length).toBe(14);
    for (const at of arrived)
      expect(arrived.filter(other => other >= at && other < at + 300_000).length).toBeLessThan(6);
  });

  it('is respected after runs that could not store the time of a connection', async () => {
    const window = past(2);
    const slow = slowConnections('to store their times', () => true);
    const move = vi.spyOn(ConnectLog.prototype, 'move');
    const sent = wirePosts(window);
    const arrived: number[] = [];
    const answer = wholeReplay(sent);
    server.otherwise = (...exchange) => {
      arrived.push(slow.now());
      return answer(...exchange);
    };
    const run = () => collected(posts(window, {}, acme({ timing: slow })));
    const full = new StorageError('ENOSPC', { path: folder });
    for (let i = 0; i < 5; i++) {
      move.mockRejectedValueOnce(full);
      await expect(run()).rejects.toThrow('ENOSPC');
    }
    expect(idsOf(await run())).toEqual(idsOf(sent));
    expect(arrived.length).toBe(6);
    expect(arrived[5]! - arrived[0]!).toBeGreaterThanOrEqual(300_000);
  });

  it('is respected after an aborted run, which first stores the time of its connection', async () => {
    const slow = slowConnections('to open', () => true);
    const { move } = ConnectLog.prototype;
    let stored = 0;
    vi.spyOn(ConnectLog.prototype, 'move').mockImplementation(async function (
      this: ConnectLog,
      ...times
    ) {
      await new Promise(resolve => setTimeout(resolve, 20));
      await move.apply(this, times);
      stored++;
    });
    const abort = new AbortController();
    server.otherwise = () => abort.abort(new Error('stopped'));
    const run = async () => {
      const flow = posts(past(2), {}, acme({ timing: slow }));
      for await (const _ of flow.batches({ signal: abort.signal }));
    };
    await expect(run()).rejects.toThrow('stopped');
    expect(stored).toBe(1);
  });

  it('is respected after a run that its consumer or a callback ended while it was connecting', async () => {
    let [begun, stored] = [0, 0];
    const { add } = ConnectLog.prototype;
    vi.spyOn(ConnectLog.prototype, 'add').mockImplementation(async function (this: ConnectLog, at) {
      begun++;
      if (begun > 1) await new Promise(resolve => setTimeout(resolve, 50));
      await add.call(this, at);
      stored++;
    });
    onTestFinished(() => void vi.restoreAllMocks());
    server.otherwise = stream(['{"id":1', info(COMPLETED, 1)]);
    const timings = { firstChunkMs: MINUTE, maxChunkMs: MINUTE };
    const onDamaged = () => Promise.reject(new Error('no damage, please'));
    await expect(collected(posts(past(5), { timings, onDamaged }))).rejects.toThrow('no damage');
    expect(begun).toBe(2);
    expect(stored).toBe(begun);
  });

  it('is respected if the process is killed in every connection and restarted', async () => {
    const window = past(2);
    const clock = { now: Date.now() };
    const connects: number[] = [];
    for (let run = 0; run < 7; run++) {
      const restart = new AbortController();
      server.otherwise = () => {
        connects.push(clock.now);
        restart.abort(new Error('killed'));
      };
      const flow = posts(window, {}, acme({ timing: timingOfProcess(clock) }));
      await expect(
        (async () => {
          for await (const _ of flow.batches({ signal: restart.signal }));
        })(),
      ).rejects.toThrow('killed');
    }
    expect(connects.length).toBe(7);
    for (const at of connects)
      expect(connects.filter(other => other >= at && other < at + 300_000).length).toBeLessThan(6);
  });
});
