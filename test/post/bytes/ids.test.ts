import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LazyObject } from '../../../src/json/lazy-object.js';
import { Activity } from '../../../src/post/activity.js';
import {
  IdNumber,
  isInTagId,
  leadingId,
  leadingTagIdStart,
  trailingId,
} from '../../../src/post/bytes/ids.js';
import { bySuite } from '../../suite.js';
import { arbitraryPost, writePost } from '../arbitrary-post.js';
import { postModel } from '../post-model.js';

const number = new IdNumber();

function value(): bigint {
  return (BigInt(number.high) << 32n) + BigInt(number.low);
}

const id = fc.oneof(
  fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }),
  fc.bigInt({ min: 2n ** 32n - 2n, max: 2n ** 32n + 2n }),
  fc.bigInt({ min: 2n ** 53n - 2n, max: 2n ** 53n + 2n }),
  fc.bigInt({ min: 2n ** 64n - 3n, max: 2n ** 64n - 1n }),
);

describe('a 64-bit id', () => {
  it('is parsed exactly from a string', () => {
    fc.assert(
      fc.property(id, one => {
        expect(number.parse(String(one))).toBe(true);
        expect(value()).toBe(one);
      }),
    );
  });

  it('is parsed exactly from bytes, up to the first byte that is not a digit', () => {
    fc.assert(
      fc.property(id, fc.constantFrom('', '"', ',1', ' ', '/', ':'), (one, rest) => {
        expect(number.parseDigits(Buffer.from(`[${one}${rest}`), 1)).toBe(true);
        expect(value()).toBe(one);
      }),
    );
  });
});

it.each(['', '0', '01', '-1', '+1', '1.0', ' 1', '1 ', '1e3', '18446744073709551616', '１'])(
  'the string %j is not parsed as a 64-bit id',
  text => {
    expect(number.parse(text)).toBe(false);
  },
);

it.each(['', '0', '01', '-1', 'x1', '18446744073709551616', '99999999999999999999999999'])(
  'the bytes of %j are not parsed as a 64-bit id',
  text => {
    expect(number.parseDigits(Buffer.from(text), 0)).toBe(false);
  },
);

function mostly(usual: readonly string[], ...others: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );
}

const TIME = 'Wed Oct 10 20:19:24 +0000 2018';
const beginning = fc
  .tuple(
    mostly(
      ['{"created_at":"', '{"created_at": "'],
      '{ "created_at":"',
      '{"created_at" :"',
      '{"id":1,"x":"',
      '{"',
    ),
    mostly([TIME], `${TIME.slice(0, -2)}\\"`, 'x","id":1,"id_str":"2","a":"zz', `${TIME}8`),
    mostly(['","id":', '", "id": '], '" ,"id":', '","id":  ', '","xd":', '"'),
    mostly(['0', '12', '1050118621198921728'], '', '"12"', '-5', '1.5'),
    mostly([',"id_str":"', ', "id_str": "'], ',"id_str" :"', ',"id_str":', ',"id_sts":"'),
    mostly(['7', '1050118621198921728'], '', '\\u0031', 'a7', 'tag:7'),
    mostly(['"'], '\\"', ''),
    mostly([''], '}', ',"id_str":"9"}'),
  )
  .map(pieces => Buffer.from(pieces.join('')));

describe('leadingId', () => {
  it('returns the id of every post of the original format as the service prints it', () => {
    fc.assert(
      fc.property(postModel, model => {
        expect(leadingId(writePost(model, 'original').bytes)).toBe(String(model.id));
        expect(leadingId(writePost(model, 'activity_streams').bytes)).toBeUndefined();
      }),
    );
  });

  it('returns the id of a post with at most one space after each colon and comma', () => {
    const printed = (space: string) => {
      const members = [
        `"created_at":${space}"${TIME}"`,
        `"id":${space}12`,
        `"id_str":${space}"12"`,
      ];
      return Buffer.from(`{${members.join(`,${space}`)}}`);
    };
    expect(leadingId(printed(''))).toBe('12');
    expect(leadingId(printed(' '))).toBe('12');
    expect(leadingId(printed('  '))).toBeUndefined();
  });

  it('returns the id that the parser finds, or undefined, however the JSON of the post is formatted', () => {
    fc.assert(
      fc.property(arbitraryPost, ({ bytes, json }) => {
        const found = leadingId(bytes);
        if (found !== undefined) expect(found).toBe(JSON.parse(json).id_str);
      }),
      { numRuns: bySuite(38, 2_000) },
    );
  });

  it('returns the id that LazyObject finds, or undefined, even for invalid posts', () => {
    let found = 0;
    fc.assert(
      fc.property(beginning, bytes => {
        const id = leadingId(bytes);
        if (id === undefined) return;
        found++;
        const object = LazyObject.of(Buffer.concat([bytes, Buffer.from('}')]));
        expect(object?.lastDigits('id')).toBeUndefined();
        expect(object?.lastDigits('id_str')).toBe(id);
      }),
      { numRuns: bySuite(750, 3_000) },
    );
    expect(found).toBeGreaterThan(100);
  });

  it('never returns a truncated id', () => {
    const text = '{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":12,"id_str":"12"';
    expect(leadingId(Buffer.from(text))).toBe('12');
    for (let end = 0; end < text.length; end++)
      expect(leadingId(Buffer.from(text.slice(0, end)))).toBeUndefined();
  });
});

describe('leadingTagIdStart', () => {
  it('returns the position of the id of every post that the service prints as activity_streams', () => {
    fc.assert(
      fc.property(postModel, fc.string(), (model, before) => {
        const start = Buffer.byteLength(before);
        const block = (format: 'original' | 'activity_streams') =>
          Buffer.concat([Buffer.from(before), writePost(model, format).bytes]);
        const bytes = block('activity_streams');
        const digits = leadingTagIdStart(bytes, start);
        expect(isInTagId(bytes, digits)).toBe(true);
        const id = String(model.id);
        expect(bytes.toString('latin1', digits, digits + id.length + 1)).toBe(`${id}"`);
        expect(leadingTagIdStart(block('original'), start)).toBe(-1);
      }),
    );
  });

  it.each([
    '{"id":"tag:search.twitter.com,2005:"',
    '{"id":"tag:search.twitter.com,2005:12a"',
    '{"id":"tag:search.twitter.com,2005:1\\u0032"',
    '{"id":"tag:other,2005:12"',
    '{"a":1,"id":"tag:search.twitter.com,2005:12"',
    '{"id":"tag:search.twitter.com,2005:12',
  ])('returns -1 for a post that begins with %s', text => {
    expect(leadingTagIdStart(Buffer.from(text), 0)).toBe(-1);
  });
});

const ending = fc
  .tuple(
    mostly(['{"created_at":"x"'], '{"id":1', '{"created_at":{"a":1}', '{ "created_at":1'),
    mostly([',"text":"a"', ''], ',"text":"\\"', ',"list":[{"a":1}', ',"object":{"id":2'),
    mostly([',"id":'], ', "id":', ',"xd":', ',"text":",\\"id\\":', '"id":'),
    mostly(['0', '12', '1050118621198921728'], '', '"12"', '-5', '1.5'),
    mostly([',"id_str":"'], ',"id_str": "', ',"id_str":', ',"id_sts":"', ',\\"id_str\\":\\"'),
    mostly(['7', '1050118621198921728'], '', 'a7', 'tag:7', '7\\'),
    mostly(['"}'], '"', '"}}', '"}]}', '"} '),
  )
  .map(pieces => pieces.join(''));

describe('trailingId', () => {
  it('returns an id only if it is among the last members of a post', () => {
    const post = `{"created_at":"${TIME}","text":"a","id":12,"id_str":"12"}`;
    expect(trailingId(Buffer.from(post))).toBe('12');
    expect(trailingId(Buffer.from(post.replace('"id":12', '"id": 12')))).toBeUndefined();
    expect(trailingId(Buffer.from(`{"text":"a","id":12,"id_str":"12"}`))).toBeUndefined();
    const nested = `{"created_at":"${TIME}","object":{"id":12,"id_str":"12"}}`;
    expect(trailingId(Buffer.from(nested))).toBeUndefined();
  });

  it('returns the id that JSON.parse finds, or undefined, for any document', () => {
    let found = 0;
    fc.assert(
      fc.property(ending, json => {
        const id = trailingId(Buffer.from(json));
        const parsed = parsedOf(json);
        if (id === undefined || parsed === undefined) return;
        found++;
        expect(parsed.id_str).toBe(id);
        expect(typeof parsed.id).toBe('number');
      }),
      { numRuns: bySuite(750, 3_000) },
    );
    expect(found).toBeGreaterThan(100);
  });

  it('returns the same id and rules whether the id of an activity comes first or last', () => {
    fc.assert(
      fc.property(postModel, model => {
        const { json } = writePost(model, 'original');
        const { id, id_str, ...rest } = JSON.parse(json);
        const moved = JSON.stringify({ ...rest, id: 0, id_str: String(model.id) });
        const activity = new Activity(Buffer.from(moved.replace('"id":0', `"id":${model.id}`)));
        expect(activity.id).toBe(String(model.id));
        expect(activity.tags).toEqual(new Activity(Buffer.from(json)).tags);
      }),
    );
  });
});

function parsedOf(json: string): { readonly id?: unknown; readonly id_str?: unknown } | undefined {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
