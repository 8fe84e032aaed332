import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { MINUTE } from '../../../src/base/time.js';
import { unchecked } from '../../unchecked.js';
import { originalPost } from '../memory-archive.js';
import { hourOfPosts, idOf, idsIn, localStreams, range, START } from './local-streams.js';

describe('a replay of the local service with a planted fault', () => {
  it('delivers only a part of the posts of failed minutes', async () => {
    const posts = Array.from({ length: 10 }, (_, i) =>
      originalPost(START + i * 1000, idOf(i), 'tea'),
    );
    const { see, replayPath, service } = await localStreams(posts);
    const minutes = ['202405151000'];
    service.faults.plant({ kind: 'minutes-failed', minutes, deliver: 'part' });
    const { messages } = await see(replayPath());
    expect(idsIn(messages)).toEqual([0, 2, 4, 6, 8].map(idOf));
    expect(messages.at(-1)).toContain('"activity_count":5,"minutes_failed":["2024-05-15T10:00');
  });

  it('delivers only a part of an unprocessed range', async () => {
    const posts = Array.from({ length: 10 }, (_, i) =>
      originalPost(START + i * 1000, idOf(i), 'tea'),
    );
    const { see, replayPath, service } = await localStreams(posts);
    service.faults.plant({ kind: 'unprocessed-range', fromDate: '202405151000', deliver: 'part' });
    const { messages } = await see(replayPath());
    expect(idsIn(messages)).toEqual([0, 2, 4, 6, 8].map(idOf));
    expect(messages.at(-1)).toContain('"fromDate":"2024-05-15T10:00:00+00:00"');
  });

  it('is not affected if its window lacks the minute of the fault, and the fault stays planted', async () => {
    const { see, replayPath, service } = await localStreams(hourOfPosts());
    service.faults.plant({ kind: 'unprocessed-range', fromDate: '202405151010' });
    service.faults.plant({ kind: 'minutes-failed', minutes: ['202405151010'] });
    const early = await see(replayPath('firehose', START, START + 10 * MINUTE));
    expect(early.messages.at(-1)).toContain('"Replay Request Completed"');
    expect(service.faults.list()).toHaveLength(2);
    // A final message with an unprocessed range must not list failed minutes, because clients would
    // lose these minutes.
    const failed = await see(replayPath());
    expect(failed.messages.at(-1)).toContain('Failed to Complete');
    expect((await see(replayPath())).messages.at(-1)).toContain('Completed with Errors');
    expect(service.faults.list()).toEqual([]);
  });

  it('fails to complete from the first minute that the archive cannot read', async () => {
    const { see, replayPath, archive, errors } = await localStreams(hourOfPosts());
    const scan = archive.scan.bind(archive);
    archive.scan = async function* (window) {
      for await (const block of scan(window)) {
        if (block.segment > START + 20 * MINUTE) throw new Error('a broken disk');
        yield block;
      }
    };
    const { messages } = await see(replayPath());
    // The unprocessed range starts at the minute that was being sent, because posts of this minute
    // may be missing.
    expect(messages.at(-1)).toContain(
      '"unprocessed_range":{"fromDate":"2024-05-15T10:29:00+00:00","toDate":"2024-05-15T11:00:00+00:00"},"activity_count":30',
    );
    expect(errors).toMatchObject([{ message: 'a broken disk' }]);
  });

  it('states a wrong count of posts in its last message', async () => {
    const { see, replayPath, service } = await localStreams(hourOfPosts());
    service.faults.plant({ kind: 'wrong-count', by: -3 });
    const { messages } = await see(replayPath());
    expect([messages.length, messages.at(-1)]).toEqual([
      61,
      expect.stringContaining('"activity_count":57'),
    ]);
  });
});

describe('a replay connection that a planted fault ends or disturbs', () => {
  const cafes = () => hourOfPosts(60, i => `café ☕ number ${i}`);

  it.each([
    ['reset', { complete: false, error: 'ECONNRESET' }],
    ['close', { complete: false, error: 'ECONNRESET' }],
    ['finish', { complete: true, error: undefined }],
  ] as const)(
    'can end after whole messages by %s, and delivers all of these messages',
    async (end, how) => {
      const { see, replayPath, service } = await localStreams(cafes());
      service.faults.plant({ kind: 'content-cut', afterMessages: 7, end });
      const seen = await see(replayPath());
      expect(seen).toMatchObject(how);
      expect(idsIn(seen.messages)).toEqual(range(0, 7));
      expect(seen.text.endsWith('}\r\n')).toBe(true);
      // A gzip trailer is only valid after a clean end.
      const { gunzipSync } = await import('node:zlib');
      if (end === 'finish') expect(gunzipSync(seen.wire).toString()).toBe(seen.text);
      else expect(() => gunzipSync(seen.wire)).toThrow('unexpected end');
    },
  );

  it('can end before the first message, or just before the info message', async () => {
    const { see, replayPath, service } = await localStreams(cafes());
    for (const afterMessages of [0, 60]) {
      service.faults.plant({ kind: 'content-cut', afterMessages, end: 'finish' });
      const { messages, complete } = await see(replayPath());
      expect([messages.length, complete]).toEqual([afterMessages, true]);
    }
  });

  it('can end within a message', async () => {
    const { see, replayPath, service } = await localStreams(cafes());
    service.faults.plant({ kind: 'content-cut', afterMessages: 3, within: 'message' });
    const { messages, text, complete } = await see(replayPath());
    expect([messages.length, complete]).toEqual([4, false]);
    expect(text.endsWith('\r\n')).toBe(false);
    expect(() => JSON.parse(messages[3] as string)).toThrow();
  });

  it('can end within the info message', async () => {
    const { see, replayPath, service } = await localStreams(cafes());
    service.faults.plant({
      kind: 'content-cut',
      afterMessages: 60,
      within: 'message',
      end: 'finish',
    });
    const { messages, complete } = await see(replayPath());
    expect(complete).toBe(true);
    expect(messages.at(-1)).toMatch(/^\{"info":\{"message":"Replay[^}]*$/);
  });

  it('can end within a character', async () => {
    const { see, replayPath, service } = await localStreams(cafes());
    service.faults.plant({ kind: 'content-cut', afterMessages: 2, within: 'character' });
    const { messages } = await see(replayPath());
    expect(messages).toHaveLength(3);
    expect(messages[2]).toMatch(/"text":"caf\ufffd$/);
  });

  it('does not end early if the fault is set for after the last message', async () => {
    const { see, replayPath, service } = await localStreams(cafes());
    const effectsOf = async (afterMessages: number, within: 'message' | 'character') => {
      const { id } = service.faults.plant({ kind: 'content-cut', afterMessages, within });
      await see(replayPath());
      return service.faults.effects(id);
    };
    expect(await effectsOf(60, 'message')).toBe(1);
    expect(await effectsOf(61, 'message')).toBe(0);
    // The last message is ASCII, so there is no character to cut.
    expect(await effectsOf(60, 'character')).toBe(0);
  });

  it('is not cut within an ASCII message if the fault requests a cut within a character', async () => {
    const text = (i: number) => (i < 5 ? 'tea' : 'thé');
    const { see, replayPath, service } = await localStreams(hourOfPosts(10, text));
    service.faults.plant({ kind: 'content-cut', afterMessages: 2, within: 'character' });
    expect((await see(replayPath())).messages).toHaveLength(6);
  });

  it('can end within its gzip data, at any compressed byte', async () => {
    const { see, replayPath, service } = await localStreams(cafes());
    const whole = await see(replayPath());
    const bytes = whole.wire.length;
    for (const afterBytes of [0, 1, 9, 10, 11, bytes >> 1, bytes - 9, bytes - 1]) {
      service.faults.plant({ kind: 'cut', endpoint: 'replay', afterBytes, end: 'close' });
      const { wire, text, complete } = await see(replayPath());
      expect([wire.length, complete]).toEqual([afterBytes, false]);
      expect(whole.text.startsWith(text)).toBe(true);
    }
  });

  it('can stall, and then continue', async () => {
    const { see, replayPath, service } = await localStreams(cafes());
    service.faults.plant({ kind: 'stall', endpoint: 'replay', afterBytes: 500, forMs: 60 });
    const began = performance.now();
    const { messages } = await see(replayPath());
    expect(messages).toHaveLength(61);
    expect(performance.now() - began).toBeGreaterThan(57);
  });

  it('can stall permanently, without heartbeats', async () => {
    const { open, replayPath, service } = await localStreams(cafes(), { heartbeatMs: 5 });
    service.faults.plant({ kind: 'stall', afterBytes: 200 });
    const connection = await open(replayPath());
    await new Promise(resolve => setTimeout(resolve, 60));
    connection.destroy();
    expect((await connection.end()).wire).toHaveLength(200);
  });

  it('can have a flipped bit, which every gzip decoder detects', async () => {
    const { see, replayPath, service } = await localStreams(cafes());
    const whole = await see(replayPath());
    service.faults.plant({ kind: 'flip', atByte: whole.wire.length - 6 });
    const url = replayPath();
    const seen = await see(url).catch(error => error);
    expect(seen).toMatchObject({ code: 'Z_DATA_ERROR' });
  });
});

it('a client that disconnects during a planted fault causes no error in the service', async () => {
  const posts = hourOfPosts(60, i => randomBytes(30_000).toString('base64') + i);
  const { open, replayPath, service, errors } = await localStreams(posts);
  for (let times = 0; times < 15; times++) {
    service.faults.plant({ kind: 'flip', endpoint: 'replay', atByte: 2 ** 40 });
    const connection = await open(replayPath());
    await connection.until(text => text.length > times * 20_000);
    connection.destroy();
  }
  await new Promise(resolve => setTimeout(resolve, 50));
  expect(errors).toEqual([]);
});

describe('a replay connection that a planted fault refuses', () => {
  it('is accepted after the given number of 503s', async () => {
    const { see, replayPath, service } = await localStreams(hourOfPosts());
    service.faults.plant({ kind: 'status', endpoint: 'replay', status: 503, times: 2 });
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await see(replayPath())).status);
    expect(statuses).toEqual([503, 503, 200]);
  });

  it('gets a 429 with a Retry-After header', async () => {
    const { see, replayPath, service } = await localStreams();
    service.faults.plant({ kind: 'status', endpoint: 'replay', status: 429, retryAfter: 60 });
    const { status, headers, text } = await see(replayPath());
    expect([status, headers['retry-after']]).toEqual([429, '60']);
    expect(JSON.parse(text)).toEqual({
      error: { message: expect.any(String), sent: '2024-05-15T12:34:56+00:00' },
    });
  });

  it('does not affect requests to other endpoints', async () => {
    const { see, replayPath, service, rules } = await localStreams();
    service.faults.plant({ kind: 'status', endpoint: 'rules', status: 503 });
    expect((await see(replayPath())).status).toBe(200);
    expect((await rules('GET', '.json')).status).toBe(503);
  });
});

describe('a fault planted for streams', () => {
  it.each([
    [{ kind: 'content-cut' }, 'afterMessages'],
    [{ kind: 'content-cut', afterMessages: -1 }, 'afterMessages'],
    [{ kind: 'content-cut', afterMessages: 1, within: 'gzip' }, 'within'],
    [{ kind: 'content-cut', afterMessages: 1, endpoint: 'search' }, 'endpoint'],
    [{ kind: 'wrong-count', by: 1.5 }, 'by'],
    [{ kind: 'minutes-failed', minutes: [] }, 'minutes'],
    [{ kind: 'minutes-failed', minutes: ['2024'] }, 'minutes'],
    [{ kind: 'unprocessed-range', fromDate: '202402300000' }, 'fromDate'],
    [{ kind: 'unprocessed-range', fromDate: '202402010000', deliver: 'all' }, 'deliver'],
    [{ kind: 'flood', minutes: 0 }, 'minutes'],
    [{ kind: 'flood', posts: 5 }, 'posts'],
  ])('causes an error with impossible values: %j', async (fault, field) => {
    const { service } = await localStreams();
    expect(() => service.faults.plant(unchecked(fault))).toThrow(
      expect.objectContaining({ option: `fault.${field}` }),
    );
  });

  it('takes effect together with other faults, but only on connections that match all of them', async () => {
    const { see, replayPath, service } = await localStreams(hourOfPosts());
    const path = 'fromDate=202405151000';
    service.faults.plant({ kind: 'minutes-failed', minutes: ['202405151001'], path });
    service.faults.plant({ kind: 'wrong-count', by: 1, path });
    service.faults.plant({ kind: 'delay', ms: 1, path });
    service.faults.plant({ kind: 'stall', afterBytes: 100, forMs: 1, path });
    const other = await see(replayPath('firehose', START + MINUTE, START + 3 * MINUTE));
    expect(other.messages.at(-1)).toContain('"Replay Request Completed"');
    const { messages } = await see(replayPath());
    expect(messages.at(-1)).toContain('"activity_count":60,"minutes_failed"');
    expect(service.faults.list()).toEqual([]);
  });

  it('of the kind flood does not wait for a slow client', async () => {
    const large = hourOfPosts(60, i => String(i).repeat(10_000));
    const { see, replayPath, service } = await localStreams(large, { streamBacklogBytes: 50_000 });
    // A client that keeps up receives all messages.
    expect((await see(replayPath())).messages).toHaveLength(61);
    service.faults.plant({ kind: 'flood' });
    const { messages } = await see(replayPath());
    expect(messages.at(-1)).toContain('Force closing connection');
    expect(messages.length).toBeLessThan(61);
  });
});
