import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { account } from '../../src/http/account.js';
import { SETTINGS } from '../../src/http/settings.js';
import { unchecked } from '../unchecked.js';
import { optionErrorOf } from './option-error-of.js';

const CANARY = 'canary-pa55word';

describe('account()', () => {
  it('accepts the base URLs that the local service prints', () => {
    const addresses = {
      baseUrl: 'http://127.0.0.1:8080',
      account: 'local',
      label: 'dev',
      email: 'dev@example.com',
      password: CANARY,
      unapprovedConsumerKey: 'not ours',
    };
    const { settings } = account(addresses, {});
    expect(settings.baseUrl?.href).toBe('http://127.0.0.1:8080/');
    expect(settings).toMatchObject({ account: 'local', label: 'dev', email: 'dev@example.com' });
    expect(settings.password?.reveal()).toBe(CANARY);
  });

  it('reads every setting from the environment', () => {
    const environment = Object.fromEntries(
      Object.values(SETTINGS).map(({ env, kind }) => [
        env,
        {
          url: 'https://host.test/path',
          count: '120',
          shard: '2/8',
          origins: 'http://a.test, http://b.test:8080',
        }[kind as string] ?? `value of ${env}`,
      ]),
    );
    const { settings } = account({}, environment);
    for (const [name, { env, kind }] of Object.entries(SETTINGS)) {
      expect(env).toMatch(/^MILLRACE_[A-Z_]+$/);
      const value = settings[name as keyof typeof SETTINGS];
      if (kind === 'url') expect(String(value)).toBe('https://host.test/path');
      else if (kind === 'count') expect(value).toBe(120);
      else if (kind === 'origins') expect(value).toEqual(['http://a.test', 'http://b.test:8080']);
      else if (kind === 'shard') expect(value).toEqual({ index: 2, of: 8 });
      else if (kind === 'secret') expect(String(value)).toBe('[redacted]');
      else expect(value).toBe(`value of ${env}`);
    }
  });

  it('prefers options to the environment, and ignores empty variables', () => {
    const environment = { MILLRACE_ACCOUNT: 'env', MILLRACE_LABEL: 'env', MILLRACE_BASE_URL: '' };
    const { settings } = account({ account: 'option' }, environment);
    expect(settings).toEqual({ account: 'option', label: 'env', rulestream: 'rulestream' });
  });

  it('throws an OptionError with the option and variable of a missing setting only when a call needs the setting', () => {
    const empty = account({}, {});
    expect(optionErrorOf(() => empty.need('historicalUrl', 'jobs')).message).toBe(
      '`historicalUrl` is needed for jobs: pass it to account() or set MILLRACE_HISTORICAL_URL, or MILLRACE_URL for all addresses',
    );
  });

  it('never prints the password', () => {
    const acme = account(
      { baseUrl: 'https://a.test', email: 'a@b.c', password: CANARY, consumerSecret: CANARY },
      {},
    );
    const token = Buffer.from(`a@b.c:${CANARY}`).toString('base64');
    const printed = [
      JSON.stringify(acme),
      String(acme),
      inspect(acme, { depth: 9 }),
      inspect({ deep: [acme] }, { depth: 9, showHidden: true }),
    ];
    for (const text of printed) {
      expect(text).not.toContain(CANARY);
      expect(text).not.toContain(token);
    }
    expect(inspect(acme)).toContain("baseUrl: 'https://a.test/'");
    expect(JSON.parse(JSON.stringify(acme)).password).toBe('[redacted]');
  });
});

describe('Basic credentials', () => {
  const acme = account(
    {
      baseUrl: 'https://search.test/x',
      historicalUrl: 'https://jobs.test',
      dataUrl: 'https://data.test',
      oauthUrl: 'https://oauth.test',
      statusUrl: 'https://status.test',
      email: 'a@b.c',
      password: 'pässword',
    },
    {},
  );

  it('are sent to the configured origins, encoded in UTF-8', () => {
    const expected = `Basic ${Buffer.from('a@b.c:pässword').toString('base64')}`;
    expect(acme.basicFor(new URL('https://search.test/other'))).toBe(expected);
    expect(acme.basicFor(new URL('https://jobs.test/'))).toBe(expected);
  });

  it.each([
    'https://evil.test/',
    'http://search.test/',
    'https://search.test:8443/',
    'https://search.test.evil.test/',
    'https://data.test/',
    'https://oauth.test/',
    'https://status.test/',
  ])('are not sent to %s', url => {
    expect(acme.basicFor(new URL(url))).toBeUndefined();
  });
});

describe('MILLRACE_LIMITS', () => {
  const local = new URL('http://127.0.0.1:8080');
  const real = new URL('https://replay.test');
  const rates = (name: string, url: URL, environment = {}, options = {}) =>
    account({ account: name, ...options }, environment).rateLimiter('replay', url).rates;

  it('set to relaxed lifts the rate limits, but only for a local service', () => {
    const relaxed = { MILLRACE_LIMITS: 'relaxed' };
    expect(rates('relaxed', local, relaxed)).toEqual([]);
    const documented = [{ requests: 5, perMs: 300_000 }];
    expect(rates('relaxed', real, relaxed)).toEqual(documented);
    const insecureOrigins = ['http://container.test:8080'];
    const container = new URL('http://container.test:8080/replay');
    expect(rates('there', container, relaxed, { insecureOrigins })).toEqual([]);
    expect(rates('there', new URL('http://container.test'), relaxed)).toEqual(documented);
    expect(rates('strict there', container, {}, { insecureOrigins })).toEqual(documented);
    for (const text of ['strict', ''])
      expect(rates(`s${text}`, local, { MILLRACE_LIMITS: text })).toEqual(documented);
    const limits = { replay: [{ requests: 1, perMs: 1_000 }] };
    expect(rates('own', local, relaxed, { limits })).toEqual(limits.replay);
    const contract = account({ account: 'c', searchesPerMinute: 7 }, relaxed);
    expect(contract.rateLimiter('search', local).rates).toEqual([{ requests: 7, perMs: 60_000 }]);
  });

  it('causes an OptionError if it is neither strict nor relaxed', () => {
    const { message } = optionErrorOf(() => account({}, { MILLRACE_LIMITS: 'none' }));
    expect(message).toContain('`MILLRACE_LIMITS` must be strict or relaxed');
  });
});

it('account() suggests the correct name for a misspelt setting', () => {
  expect(optionErrorOf(() => account(unchecked({ baseurl: 'https://x' }), {})).message).toBe(
    'account: unknown option `baseurl`; did you mean `baseUrl`?',
  );
});

it('account() names all wrong options in one error, even nested ones and environment variables', () => {
  const { message } = optionErrorOf(() =>
    account(
      {
        baseUrl: 'http://search.test',
        searchesPerMinute: 0,
        retry: { attempts: 0, totalMs: Number.NaN },
        timeouts: { connectMs: 0 },
      },
      { MILLRACE_RULES_URL: 'nowhere' },
    ),
  );
  for (const name of ['baseUrl', 'searchesPerMinute', 'retry.attempts', 'retry.totalMs'])
    expect(message).toContain(`account: \`${name}\` must be`);
  expect(message).toContain('account: `timeouts.connectMs` must be milliseconds from 1');
  expect(message).toContain('account: `MILLRACE_RULES_URL` ');
});

it.each([
  [
    { timeouts: { silence: 60_000 } },
    'unknown option `timeouts.silence`; did you mean `timeouts.silenceMs`?',
  ],
  [
    { retry: { firstWait: 1 } },
    'unknown option `retry.firstWait`; did you mean `retry.firstWaitMs`?',
  ],
  [{ retry: { longestWait: 1 } }, 'unknown option `retry.longestWait`; known are `attempts`, '],
  [{ limits: { serch: [] } }, 'unknown option `limits.serch`; did you mean `limits.search`?'],
  [{ limits: { search: [{ requests: 1, per: 1 }] } }, '`limits.search` must be a list of rates'],
])('account() refuses an unknown name in a group of options: %j', (options, text) => {
  expect(optionErrorOf(() => account(unchecked(options), {})).message).toContain(
    `account: ${text}`,
  );
});

describe("the identity of an account's service in a checkpoint", () => {
  it('contains the host and port of the service', () => {
    const at = (url: string) => account({}, {}).serviceAt(new URL(url));
    expect(at('https://api.example.com:8443/search')).toEqual({ service: 'api.example.com:8443' });
    expect(at('https://api.example.com:443/search')).toEqual({ service: 'api.example.com' });
  });

  it('is the same for a local service at any loopback address and port', () => {
    const url = new URL('http://127.0.0.1:4321/search');
    expect(account({}, {}).serviceAt(url)).toEqual({});
    expect(account({ localService: 'seed 1' }, {}).serviceAt(url)).toEqual({ service: 'seed 1' });
  });
});
