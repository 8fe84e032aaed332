import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isAuthorized } from '../../../src/service/http/basic-auth.js';

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const credentials = { email: 'me@example.com', password: 'sécret:with colon' };

describe('HTTP Basic', () => {
  it('accepts the configured email and password, in UTF-8, with colons in the password', () => {
    expect(isAuthorized(basic('me@example.com:sécret:with colon'), credentials)).toBe(true);
    expect(
      isAuthorized(
        basic('me@example.com:sécret:with colon').replace('Basic', 'bASIC'),
        credentials,
      ),
    ).toBe(true);
  });

  it.each([
    undefined,
    '',
    'Basic',
    'Basic ',
    'Bearer abc',
    basic(''),
    basic(':'),
    basic('me@example.com'),
    basic('me@example.com:'),
    basic('Me@example.com:sécret:with colon'),
    basic('me@example.com:sécret'),
    basic('me@example.com:sécret:with colon '),
    `${basic('me@example.com:sécret:with colon')} more`,
  ])('refuses %j', header => {
    expect(isAuthorized(header, credentials)).toBe(false);
  });

  it('refuses every other pair', () => {
    fc.assert(
      fc.property(fc.string(), text => {
        fc.pre(text !== `${credentials.email}:${credentials.password}`);
        expect(isAuthorized(basic(text), credentials)).toBe(false);
      }),
    );
  });
});
