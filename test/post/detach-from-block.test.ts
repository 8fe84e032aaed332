import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Activity } from '../../src/post/activity.js';
import { parseComplianceEvent } from '../../src/post/compliance-event.js';
import { detached } from '../../src/post/detach-from-block.js';

const MEGABYTE = 2 ** 20;

function inBlock(text: string, size = MEGABYTE): Buffer {
  const block = Buffer.alloc(size);
  return block.subarray(0, block.write(text));
}

const POST = JSON.stringify({
  created_at: 'Wed Oct 10 20:19:24 +0000 2018',
  id_str: '1050118621198921728',
  user: { id_str: '7', screen_name: 'ann', name: 'Ann' },
  text: 'snow',
  retweeted_status: { id_str: '9', created_at: 'Wed Oct 10 20:19:24 +0000 2018', text: 'ice' },
});
/** The intersection of all item types that the tests below pass to `detached()`. */
type Held = Buffer & { readonly activity: Activity } & readonly [Activity & Buffer];
const EVENT = '{"delete":{"status":{"id_str":"5","user_id_str":"6"},"timestamp_ms":"1"}}';

describe('detached()', () => {
  it('copies an activity out of a large buffer, with all properties already read', () => {
    const post = new Activity(inBlock(POST));
    // Reads a property first, so that the activity has stored the positions of its members.
    expect(post.format).toBe('original');
    const [held] = detached([post]);
    expect(held).toBe(post);
    expect(post.raw.buffer.byteLength).toBeLessThan(10_000);
    expect(String(post.raw)).toBe(POST);
    expect([post.id, post.text, post.author.handle, post.retweeted?.id]).toEqual([
      '1050118621198921728',
      'snow',
      'ann',
      '9',
    ]);
  });

  it.each<[string, (bytes: Buffer) => unknown, (item: Held) => Uint8Array]>([
    ['bytes', bytes => bytes, item => item],
    ['a Uint8Array', b => new Uint8Array(b.buffer, 0, b.length), item => item],
    ['a tagged post', b => ({ tag: 'a', activity: new Activity(b) }), item => item.activity.raw],
    ['a post in an object', b => ({ n: 1, activity: new Activity(b) }), item => item.activity.raw],
    ['an array of posts', b => [new Activity(b)], item => item[0].raw],
    ['an array of bytes', b => [b], item => item[0]],
  ])('copies %s', (_, make, bytesIn) => {
    const item = make(inBlock(POST));
    const [held] = detached([item]);
    const bytes = bytesIn(held as Held);
    expect(bytes.buffer.byteLength).toBeLessThan(10_000);
    expect(Buffer.from(bytes).toString()).toBe(POST);
    expect(bytes.constructor).toBe(bytesIn(item as Held).constructor);
  });

  it('copies a compliance event', () => {
    const event = parseComplianceEvent(inBlock(EVENT));
    const [held] = detached([event]);
    expect(held).toEqual(event);
    expect(held?.raw.buffer.byteLength).toBeLessThan(10_000);
  });

  it('does not copy views that fill most of their buffer, or values that are not bytes', () => {
    const block = inBlock(POST.repeat(1_000), 1_500 * POST.length);
    const halves = [block.subarray(0, 200_000), block.subarray(200_000)];
    const items = [...halves, 'text', null, 3n, { rows: [1] }, new Map(), Buffer.from('small')];
    expect(detached(items)).toBe(items);
  });

  it('preserves all bytes in buffers of at most twice their size', () => {
    const view = fc.record({ block: fc.nat(3), start: fc.nat(60_000), length: fc.nat(3_000) });
    fc.assert(
      fc.property(fc.array(view, { maxLength: 30 }), views => {
        const blocks = Array.from({ length: 4 }, (_, index) =>
          Buffer.alloc(64_000, `${index}, and the rest of it; `),
        );
        const items = views.map(({ block, start, length }) =>
          (blocks[block] as Buffer).subarray(start, start + length),
        );
        const before = items.map(String);
        const held = detached(items);
        expect(held.map(String)).toEqual(before);
        const bytes = held.reduce((sum, item) => sum + item.length, 0);
        const buffers = new Set(held.map(item => item.buffer));
        const memory = [...buffers].reduce((sum, buffer) => sum + buffer.byteLength, 0);
        expect(memory).toBeLessThanOrEqual(2 * bytes + 4 * 8_192);
      }),
    );
  });
});
