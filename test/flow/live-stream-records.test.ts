import { constants, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { Gzip } from 'minizlib';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { liveRecords } from '../../src/flow/live-stream-records.js';
import type { LiveConnection } from '../../src/http/live-connection.js';

function connectionOf(wire: Buffer, cuts: readonly number[], failure?: Error): LiveConnection {
  async function* blocks() {
    let at = 0;
    for (const cut of [...new Set(cuts)].sort((a, b) => a - b)) {
      yield [wire.subarray(at, cut), wire.subarray(cut, cut + 1)];
      at = Math.max(at, cut + 1);
    }
    yield [wire.subarray(at)];
    if (failure !== undefined) throw failure;
  }
  return { url: 'here', rawBlocks: blocks(), receivedBytes: 0, close: () => {} };
}

async function recordsOf(connection: LiveConnection) {
  const records: string[] = [];
  try {
    for await (const { items } of liveRecords(connection)) records.push(...items.map(String));
  } catch (error) {
    return { records, error };
  }
  return { records, error: undefined };
}

/** Compresses the messages, with a flush after each of them, as a stream does. */
function flushed(messages: readonly string[]): Buffer {
  const gzip = new Gzip({ flush: constants.Z_SYNC_FLUSH });
  const out: Buffer[] = [];
  gzip.on('data', (piece: Buffer) => out.push(piece));
  for (const message of messages) gzip.write(Buffer.from(`${message}\r\n`));
  gzip.end();
  return Buffer.concat(out);
}

const messages = fc
  .array(fc.string({ unit: 'grapheme', maxLength: 300 }), { minLength: 1, maxLength: 20 })
  .map(texts => texts.map(text => JSON.stringify({ text })));

describe('the records of a live stream', () => {
  it('are the messages that were sent, for any chunk sizes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(messages, { minLength: 1, maxLength: 3 }),
        fc.array(fc.nat(), { maxLength: 8 }),
        async (members, cutsAt) => {
          const wire = Buffer.concat(members.map(flushed));
          const cuts = cutsAt.map(at => at % wire.length);
          expect(await recordsOf(connectionOf(wire, cuts))).toEqual({
            records: members.flat(),
            error: undefined,
          });
        },
      ),
    );
  });

  it('are all delivered before the error of a broken connection', async () => {
    const sent = Array.from({ length: 500 }, (_, i) => `{"n":${i},"text":"${'x'.repeat(i)}"}`);
    const failure = new Error('the connection was reset');
    const wire = flushed(sent).subarray(0, -9);
    expect(await recordsOf(connectionOf(wire, [7, 4_000], failure))).toEqual({
      records: sent,
      error: failure,
    });
  });

  it('end with an error if the stream is cut off, even before the first record', async () => {
    const wire = flushed(['{"n":1}']);
    for (const cut of [wire.subarray(0, -9), Buffer.alloc(0)]) {
      const { error } = await recordsOf(connectionOf(cut, []));
      expect(error).toBeInstanceOf(DataError);
      expect(String(error)).toContain('cut short');
    }
  });

  it('cause an error if they are not lines of JSON', async () => {
    const { error } = await recordsOf(connectionOf(gzipSync('no JSON\r\n'), []));
    expect(error).toBeInstanceOf(DataError);
  });

  it('are distinguished from heartbeats by the flag of onBytes, for any chunk sizes', async () => {
    const gzip = new Gzip({ flush: constants.Z_SYNC_FLUSH });
    const arrivals: (readonly Buffer[])[] = [];
    let chunks: Buffer[] = [];
    gzip.on('data', (piece: Buffer) => chunks.push(piece));
    for (const sent of [
      '\r\n',
      '\r',
      '\n\r\n',
      '{"n":1}\r\n',
      '{"n":2',
      '}\r\n',
      '\r\n'.repeat(9),
    ]) {
      gzip.write(Buffer.from(sent));
      arrivals.push(chunks);
      chunks = [];
    }
    const are: boolean[] = [];
    async function* blocks() {
      yield* arrivals;
      throw new Error('the connection was reset');
    }
    const records = liveRecords(
      { url: 'here', rawBlocks: blocks() },
      { onBytes: isHeartbeat => are.push(isHeartbeat) },
    );
    const read = async () => {
      for await (const { items } of records) expect(items).toHaveLength(1);
    };
    await expect(read()).rejects.toThrow('reset');
    expect(are).toEqual([true, true, true, false, false, false, true]);
  });

  it('are not mistaken for a heartbeat if a compressed block inflates to millions of line ends', async () => {
    const block = gzipSync('\r\n'.repeat(4 << 20));
    const are: boolean[] = [];
    async function* blocks() {
      yield [block];
    }
    const records = liveRecords(
      { url: 'here', rawBlocks: blocks() },
      { onBytes: isHeartbeat => are.push(isHeartbeat) },
    );
    for await (const _ of records) expect.unreachable();
    expect(are).toEqual([false]);
  });
});
