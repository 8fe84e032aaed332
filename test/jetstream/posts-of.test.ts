import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { HEADERS } from '../../src/jetstream/message.js';
import { postsOf } from '../../src/jetstream/posts-of.js';

function posts(payload: Uint8Array, lengths: string, encoding = ''): Promise<readonly Buffer[]> {
  const headers = new Map<string, string>([
    [HEADERS.lengths, lengths],
    [HEADERS.encoding, encoding],
  ]);
  return postsOf(payload, { get: name => headers.get(name) ?? '' });
}

describe('a message of another program', () => {
  it('is refused if a length is not a whole number, which would cut posts elsewhere', async () => {
    expect((await posts(Buffer.from('ab\nc'), '2,1')).map(String)).toEqual(['ab', 'c']);
    for (const lengths of ['1.5,1.5', '0x3', '2,', ' 4', '4e0', '-1,4', 'NaN'])
      await expect(posts(Buffer.from('abcd'), lengths), lengths).rejects.toThrow('has the lengths');
  });

  it.each(['constructor', 'toString', '__proto__', 'br'])(
    'is refused if it is compressed with %s',
    async encoding => {
      await expect(posts(Buffer.from('abcd'), '4', encoding)).rejects.toThrow(
        'and not with gzip or zstd',
      );
    },
  );

  it('takes no more memory than the largest message, whatever it says that it holds', async () => {
    const bomb = gzipSync(Buffer.alloc(80 * 1024 * 1024));
    await expect(posts(bomb, String(80 * 1024 * 1024), 'gzip')).rejects.toThrow('has the lengths');
    await expect(posts(bomb, '1000', 'gzip')).rejects.toThrow('damaged');
  });
});
