import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LiveResponse } from '../../../src/service/http/live-response.js';
import { codePoint } from '../../code-point.js';
import { bySuite } from '../../suite.js';

function wireOf(options: Partial<ConstructorParameters<typeof LiveResponse>[0]> = {}) {
  const controller = new AbortController();
  const wire = new LiveResponse({
    heartbeatMs: 60_000,
    backlogBytes: 1_000_000,
    signal: controller.signal,
    farewell: () => Buffer.from('"farewell"'),
    onOverflow() {},
    ...options,
  });
  return { wire, controller };
}

const message = fc.oneof(
  fc.string({ unit: codePoint }).map(text => JSON.stringify(text)),
  fc.integer({ min: 1, max: 30_000 }).map(length => `"${'x'.repeat(length)}"`),
);

describe('the response of a live stream', () => {
  it('delivers all messages in order, whatever the speed of the client', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(message, fc.boolean()), { maxLength: 40 }),
        async steps => {
          const { wire } = wireOf();
          const chunks: Buffer[] = [];
          const consumer = wire[Symbol.asyncIterator]();
          for (const [text, takes] of steps) {
            wire.push(Buffer.from(text));
            if (takes) {
              const { value } = await consumer.next();
              chunks.push(value as Buffer);
            }
            if (wire.isAhead) {
              const { value } = await consumer.next();
              chunks.push(value as Buffer);
              await wire.room();
            }
          }
          wire.end();
          for (let next = await consumer.next(); !next.done; next = await consumer.next())
            chunks.push(next.value);
          const text = gunzipSync(Buffer.concat(chunks)).toString();
          expect(text).toBe(steps.map(([text]) => `${text}\r\n`).join(''));
        },
      ),
      { numRuns: bySuite(5, 240) },
    );
  });

  it('reports how many messages it has sent, the last three of them, and its backlog', () => {
    const { wire } = wireOf();
    expect(wire.flow).toEqual({ messages: 0, perSecond: 0, backlogBytes: 0, recent: [] });
    const recent = () => wire.flow.recent.map(String);
    for (let i = 1; i <= 7; i++) {
      wire.push(Buffer.from(`"${i}"`));
      expect(recent()).toEqual([i, i - 1, i - 2].filter(n => n > 0).map(n => `"${n}"`));
    }
    expect(wire.flow).toMatchObject({ messages: 7, backlogBytes: 7 * '"1"\r\n'.length });
    wire.end();
    wire.push(Buffer.from('"8"'));
    expect(wire.flow.messages).toBe(7);
  });

  it('can be cut after a number of bytes by a reset, a close or a normal end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: 'grapheme', minLength: 4 }), { minLength: 1, maxLength: 8 }),
        fc.nat(8),
        fc.constantFrom('boundary', 'message', 'character'),
        async (texts, afterMessages, within) => {
          const cut = { kind: 'content-cut', afterMessages, within, end: 'finish' } as const;
          const { wire } = wireOf({ cut });
          for (const text of texts) wire.push(Buffer.from(text));
          wire.end();
          const chunks: Buffer[] = [];
          for await (const chunk of wire) chunks.push(chunk);
          const seen = gunzipSync(Buffer.concat(chunks));
          const all = Buffer.from(texts.map(text => `${text}\r\n`).join(''));
          expect(all.subarray(0, seen.length)).toEqual(seen);
          const whole = Buffer.from(
            texts
              .slice(0, afterMessages)
              .map(text => `${text}\r\n`)
              .join(''),
          );
          expect(seen.length).toBeGreaterThanOrEqual(whole.length);
          if (within === 'boundary') expect(seen).toEqual(whole);
          if (within === 'message' && afterMessages < texts.length)
            expect(seen.length).toBeLessThan(all.length);
        },
      ),
    );
  });

  it('counts the messages that it sends whole, but not one that a planted fault cuts within a character', () => {
    const cut = {
      kind: 'content-cut',
      afterMessages: 1,
      within: 'character',
      end: 'finish',
    } as const;
    const { wire } = wireOf({ cut });
    for (const text of ['"1"', '"2"', '"3"']) wire.push(Buffer.from(text));
    expect(wire.flow.messages).toBe(3);
    expect(wire.flow.recent.map(String)).toEqual(['"3"', '"2"', '"1"']);
    wire.push(Buffer.from('"é"'));
    expect(wire.isOpen).toBe(false);
    expect(wire.flow.messages).toBe(3);
  });

  it('ends with the reason of an abort, even while it is idle', async () => {
    const { wire, controller } = wireOf();
    const next = wire[Symbol.asyncIterator]().next();
    controller.abort(new Error('gone'));
    await expect(next).rejects.toThrow('gone');
    expect(wire.isOpen).toBe(false);
    await wire.room();
  });

  it('sends a heartbeat only when nothing was sent for `heartbeatMs`, not even a heartbeat', async () => {
    const heartbeatMs = 100;
    const started = performance.now();
    const { wire } = wireOf({ heartbeatMs });
    const chunks: Buffer[] = [];
    for await (const chunk of wire) if (chunks.push(chunk) === 4) wire.end();
    expect(performance.now() - started).toBeGreaterThanOrEqual(4 * heartbeatMs);
    expect(gunzipSync(Buffer.concat(chunks)).toString()).toBe('\r\n'.repeat(4));
  });

  it('delivers buffered messages before it fails', async () => {
    const { wire } = wireOf();
    wire.push(Buffer.from('1'));
    wire.fail(new Error('broken'));
    const consumer = wire[Symbol.asyncIterator]();
    expect((await consumer.next()).done).toBe(false);
    await expect(consumer.next()).rejects.toThrow('broken');
  });

  it('drops buffered messages if there are too many, and then sends a final message', async () => {
    let overflows = 0;
    const { wire } = wireOf({ backlogBytes: 100, onOverflow: () => overflows++ });
    wire.push(Buffer.from('a'.repeat(60)));
    wire.push(Buffer.from('b'.repeat(60)));
    wire.push(Buffer.from('c'));
    const chunks: Buffer[] = [];
    for await (const chunk of wire) chunks.push(chunk);
    expect(gunzipSync(Buffer.concat(chunks)).toString()).toBe('"farewell"\r\n');
    expect(overflows).toBe(1);
  });
});
