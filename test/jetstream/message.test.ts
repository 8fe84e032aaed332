import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { HEADERS, postOf, postsOf } from '../../src/jetstream/message.js';

function posts(payload: Uint8Array, lengths: string, encoding = ''): Promise<readonly Buffer[]> {
  const headers = new Map<string, string>([
    [HEADERS.lengths, lengths],
    [HEADERS.encoding, encoding],
  ]);
  return postsOf(payload, { get: name => headers.get(name) ?? '' });
}

describe('decoding a message of another program', () => {
  it('fails if a length in its header is not a whole number', async () => {
    expect((await posts(Buffer.from('ab\nc'), '2,1')).map(String)).toEqual(['ab', 'c']);
    for (const lengths of ['1.5,1.5', '0x3', '2,', ' 4', '4e0', '-1,4', 'NaN'])
      await expect(posts(Buffer.from('abcd'), lengths), lengths).rejects.toThrow('has the lengths');
  });

  it.each(['constructor', 'toString', '__proto__', 'br'])(
    'fails if the message names the encoding "%s"',
    async encoding => {
      await expect(posts(Buffer.from('abcd'), '4', encoding)).rejects.toThrow(
        'and not with gzip or zstd',
      );
    },
  );

  it('fails if it inflates to more than its stated lengths or the largest message', async () => {
    const bomb = gzipSync(Buffer.alloc(80 * 1024 * 1024));
    await expect(posts(bomb, String(80 * 1024 * 1024), 'gzip')).rejects.toThrow('has the lengths');
    await expect(posts(bomb, '1000', 'gzip')).rejects.toThrow('damaged');
  });
});

describe('the payload of a message of another program', () => {
  it.each([
    '{"id_str":"1","text":"a"}\n{"id_str":"2","text":"b"}',
    '{"id":1}{"id":2}',
    '{"id":1}}}}',
    '{"id":1}\xff}',
    '{"id_str":"1","id":1,"user":{"id":3}',
    '{"id":1,"text":"a',
    '[{"id":1}]',
    '\xef\xbb\xbf{"id":1}',
    '"id"',
    '',
  ])('is not accepted as a post if it is %j', text => {
    expect(() => postOf(Buffer.from(text, 'latin1'), false)).toThrow(DataError);
  });

  it.each(['{"id":1,}', '{"id":1,"a":tru}', '{"id":1 "a":2}'])(
    'is not accepted as a post if it is not JSON, even with matching brackets: %s',
    text => {
      expect(() => postOf(Buffer.from(text), false)).toThrow(DataError);
    },
  );

  it('is not accepted as a post if it nests deeper than the limit', () => {
    const nested = (depth: number) =>
      Buffer.from(`{"id":1,"a":${'['.repeat(depth)}${']'.repeat(depth)}}`);
    expect(postOf(nested(2_999), false).id).toBe('1');
    expect(() => postOf(nested(3_000), false)).toThrow(DataError);
  });

  it('is accepted as a post if it is one JSON object with an id, even with spaces around it', () => {
    const post = postOf(Buffer.from(' {"id":1050118621198921728,"text":"Zoë"}\n'), false);
    expect(post.id).toBe('1050118621198921728');
  });
});

describe('the payload of a message of toJetStream', () => {
  it.each(['{"id":1,"text":"a"', '{"text":"a"}', 'id'])(
    'causes a DataError if it is the damaged post %j',
    text => {
      expect(() => postOf(Buffer.from(text), true)).toThrow(DataError);
    },
  );
});
