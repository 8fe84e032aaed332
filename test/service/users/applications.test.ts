import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../../src/base/errors.js';
import { createService } from '../../../src/service/index.js';
import { isRegistered, withQuery } from '../../../src/service/users/applications.js';
import { codePoint } from '../../code-point.js';

describe('the OAuth callback of an application', () => {
  it.each([
    'oob',
    'http://127.0.0.1/',
    'http://127.0.0.1:34567/callback?state=5',
    'https://localhost:1/a',
    'http://[::1]:8080',
    'http://127.1.2.3:80/',
  ])('may be any URL of this machine if no callback is registered: %s', callback => {
    expect(isRegistered(callback, undefined)).toBe(true);
  });

  it.each([
    '',
    'OOB',
    'http://example.com/',
    'http://127.0.0.1.example.com/',
    'http://localhost.example.com/',
    'http://127.0.0.1@example.com/',
    'http://user@127.0.0.1/',
    'http://example.com\\@127.0.0.1/',
    'http://127.0.0.1/ x',
    'http://127.0.0.1/#x',
    'http://127.0.0.1/#',
    'javascript:alert(1)//127.0.0.1',
    'ftp://127.0.0.1/',
    '//127.0.0.1/',
    '/callback',
    'http:127.0.0.1',
  ])('may not be the URL %s', callback => {
    expect(isRegistered(callback, undefined)).toBe(false);
  });

  const registered = ['https://app.example.com/callback', 'http://127.0.0.1:9000/'];

  it.each([
    'https://app.example.com/callback',
    'https://APP.example.com:443/callback?state=1&x=%20',
    'http://127.0.0.1:9000',
  ])('may have any query if the URL without the query is registered: %s', callback => {
    expect(isRegistered(callback, registered)).toBe(true);
  });

  it.each([
    'oob',
    'http://app.example.com/callback',
    'https://app.example.com/callback/',
    'https://app.example.com/Callback',
    'https://app.example.com/callback/../evil',
    'https://app.example.com:444/callback',
    'https://app.example.com.evil.com/callback',
    'https://app.example.com@evil.com/callback',
    'http://127.0.0.1:9001/',
    'http://localhost:9000/',
  ])('causes an error if it is not registered: %s', callback => {
    expect(isRegistered(callback, registered)).toBe(false);
  });

  it('may be `oob` (no callback URL) if `oob` is registered', () => {
    expect(isRegistered('oob', [...registered, 'oob'])).toBe(true);
  });

  it('is accepted for a registered URL only with the same origin and path', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint }), text => {
        const callback = `https://app.example.com/callback${text}`;
        if (!isRegistered(callback, registered)) return;
        const { origin, pathname } = new URL(withQuery(callback, { oauth_token: 'x' }));
        expect([origin, pathname]).toEqual(['https://app.example.com', '/callback']);
      }),
    );
  });

  it('keeps its own query in front of the OAuth parameters', () => {
    expect(withQuery('http://127.0.0.1:9/a?b=c%20d&e', { oauth_token: 'x y', denied: '&' })).toBe(
      'http://127.0.0.1:9/a?b=c%20d&e&oauth_token=x+y&denied=%26',
    );
    expect(withQuery('http://127.0.0.1:9', { a: '1' })).toBe('http://127.0.0.1:9/?a=1');
  });
});

describe('the option `callbackUrls`', () => {
  it.each([
    'http://127.0.0.1/back#',
    ' http://127.0.0.1/back',
    'http:127.0.0.1/back',
    'http://127.0.0.1\\back',
  ])('causes an OptionError for a URL that no callback could match: %j', callbackUrl => {
    expect(() => createService({ callbackUrls: [callbackUrl] })).toThrow(OptionError);
    expect(isRegistered(callbackUrl, [callbackUrl])).toBe(false);
  });
});
