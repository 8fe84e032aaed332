import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/errors.js';
import { postOf } from '../../src/jetstream/post-of.js';

describe('a payload of another program', () => {
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
  ])('is no post if it is %j', text => {
    expect(() => postOf(Buffer.from(text, 'latin1'), false)).toThrow(DataError);
  });

  it('is no post if it nests deeper than other records may', () => {
    const nested = (depth: number) =>
      Buffer.from(`{"id":1,"a":${'['.repeat(depth)}${']'.repeat(depth)}}`);
    expect(postOf(nested(2_999), false).id).toBe('1');
    expect(() => postOf(nested(3_000), false)).toThrow(DataError);
  });

  it('is a post if it is one JSON object with an id, with spaces around it', () => {
    const post = postOf(Buffer.from(' {"id":1050118621198921728,"text":"Zoë"}\n'), false);
    expect(post.id).toBe('1050118621198921728');
  });
});

describe('a payload of toJetStream', () => {
  it.each(['{"id":1,"text":"a"', '{"text":"a"}', 'id'])(
    'is not taken for a post if it is %j',
    text => {
      expect(() => postOf(Buffer.from(text), true)).toThrow(DataError);
    },
  );
});
