import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isAuthorized,
  isLoopbackHost,
  isSameSecret,
} from '../../../src/service/http/check-access.js';

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const credentials = { email: 'me@example.com', password: 'sécret:with colon' };

describe('HTTP Basic authentication', () => {
  it('accepts the configured email and password, in UTF-8, even with colons in the password', () => {
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
  ])('rejects the header %j, which does not contain the configured email and password', header => {
    expect(isAuthorized(header, credentials)).toBe(false);
  });

  it('rejects every email and password that differs from the configured one', () => {
    fc.assert(
      fc.property(fc.string(), text => {
        fc.pre(text !== `${credentials.email}:${credentials.password}`);
        expect(isAuthorized(basic(text), credentials)).toBe(false);
      }),
    );
  });
});

describe('the host in a Host header', () => {
  it.each([
    ...['127.0.0.1', '127.5.6.255', 'localhost', 'LocalHost', '[::1]'],
    ...['127.0.0.1:80', 'localhost:40000', '[::1]:1'],
  ])('is recognized as this machine: %j', host => {
    expect(isLoopbackHost(host)).toBe(true);
  });

  it.each([
    ...[undefined, '', 'evil.example', 'localhost.', 'localhost.evil.example', '0.0.0.0', '[::]'],
    ...['127.0.0.1.evil.example', '127.1', '127.0.0.256', '127.0.0.99999', '127.0.0.01'],
    ...['2130706433', '[::ffff:127.0.0.1]', '::1', 'localhost:', 'localhost:x', 'localhost:1:2'],
    ...['a@localhost', 'localhost/', '127.0.0.1,localhost'],
  ])('is recognized as another machine: %j', host => {
    expect(isLoopbackHost(host)).toBe(false);
  });
});

describe('isSameSecret', () => {
  it('returns true only for equal strings', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        expect(isSameSecret(a, a)).toBe(true);
        expect(isSameSecret(a, b)).toBe(a === b);
      }),
    );
  });
});
