import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { account } from '../../src/http/account.js';
import { pathSegment, serviceUrl } from '../../src/http/service-url.js';
import { search } from '../../src/search/search.js';
import { optionErrorOf } from './option-error-of.js';

it('a call names all missing settings and their variables in one error', () => {
  const { message } = optionErrorOf(() =>
    search(account({ account: 'acme', email: 'karl@acme.example' }, {}), {
      query: 'snow',
      product: '30day',
    }),
  );
  expect(message).toContain('needed for searches');
  for (const name of ['`baseUrl` (MILLRACE_BASE_URL)', '`label` (MILLRACE_LABEL)'])
    expect(message).toContain(name);
  expect(message).toContain('`password` (MILLRACE_PASSWORD)');
  expect(message).toContain('MILLRACE_URL alone sets all addresses if they are one');
  expect(message).not.toContain('`email`');
});

describe('the URL of a call', () => {
  const login = { email: 'karl@acme.example', password: 'pa55word' };
  const acme = (baseUrl: string) =>
    account({ baseUrl, account: 'acme & co', label: 'prod', ...login }, {});
  const address = (baseUrl: string) =>
    serviceUrl(acme(baseUrl), 'baseUrl', 'search/{account}/{label}.json', { purpose: 'searches' })
      .href;

  it.each(['https://search.test', 'https://search.test/', 'https://search.test//'])(
    'contains the encoded settings as path segments below %s',
    baseUrl => {
      expect(address(baseUrl)).toBe('https://search.test/search/acme%20%26%20co/prod.json');
    },
  );

  it('keeps the path of the base address', () => {
    expect(address('https://proxy.test/api/v1/')).toMatch(
      /^https:\/\/proxy\.test\/api\/v1\/search\//,
    );
  });

  it('uses the options of the call instead of the settings of the account', () => {
    const given = { label: 'dev' };
    const url = serviceUrl(acme('https://search.test'), 'baseUrl', '{label}', {
      purpose: 'searches',
      given,
    });
    expect(url.pathname).toBe('/dev');
  });
});

describe('a name in a URL', () => {
  it.each([
    ['snow', 'snow'],
    ['a b/c?d#e', 'a%20b%2Fc%3Fd%23e'],
    ['天気', '%E5%A4%A9%E6%B0%97'],
  ])('is percent-encoded from %j to %s', (name, segment) => {
    expect(pathSegment('label', name)).toBe(segment);
  });

  it.each(['', '.', '..', undefined, 7])('causes an error if it is %j', name => {
    expect(() => pathSegment('label', name)).toThrow(OptionError);
  });
});
