import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAuthorization } from '../../../src/service/users/authorization-header.js';
import { percentEncode } from '../../../src/service/users/signature.js';

describe('an Authorization header of the scheme OAuth', () => {
  it('gives its parameters without the realm, in any case of the scheme', () => {
    const header = 'oAUTH realm="a, \\b",\t oauth_nonce="x%2By" ,oauth_token=""';
    expect(parseAuthorization(header)).toEqual([
      ['oauth_nonce', 'x+y'],
      ['oauth_token', ''],
    ]);
  });

  it('round-trips any parameters', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { minLength: 1 }), pairs => {
        fc.pre(pairs.every(([name]) => name.toLowerCase() !== 'realm'));
        const list = pairs.map(
          ([name, value]) => `${percentEncode(name)}="${percentEncode(value)}"`,
        );
        expect(parseAuthorization(`OAuth ${list.join(', ')}`)).toEqual(pairs);
      }),
    );
  });

  it.each([undefined, '', 'Basic YTpi', 'Bearer x', 'OAuthx a="b"'])(
    'gives nothing for another scheme: %s',
    header => {
      expect(parseAuthorization(header)).toBe(undefined);
    },
  );

  it.each([
    'OAuth oauth_nonce',
    'OAuth oauth_nonce=x',
    'OAuth oauth_nonce="x',
    'OAuth oauth_nonce="x" oauth_token="y"',
    'OAuth oauth_nonce="%"',
    'OAuth oauth_nonce="%FF"',
    'OAuth ,',
  ])('is malformed: %s', header => {
    expect(parseAuthorization(header)).toBe('malformed');
  });

  it('is parsed in linear time, for any content', () => {
    const began = process.cpuUsage();
    for (const piece of [' ', 'a', '"', '=', ',', 'a="b" ', 'a="b",  '])
      parseAuthorization(`OAuth ${piece.repeat(16_000 / piece.length)}`);
    // A quadratic parser would need more than a minute.
    expect(process.cpuUsage(began).user).toBeLessThan(5_000_000);
  });
});
