import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { account } from '../../src/http/account.js';
import { unchecked } from '../unchecked.js';
import { optionErrorOf } from './option-error-of.js';

const CANARY = 'canary-pa55word';

describe('URLs in settings', () => {
  it.each([
    'https://search.test',
    'https://search.test:8443/with/path/',
    'http://localhost:80',
    'http://127.0.0.1:9999',
    'http://127.8.9.10',
    'http://[::1]:1234',
  ])('may be %s', baseUrl => {
    expect(account({ baseUrl }, {}).settings.baseUrl?.href).toBe(new URL(baseUrl).href);
  });

  it.each([
    'http://search.test',
    'http://127.0.0.1.evil.test',
    'http://localhost.evil.test',
    'http://10.0.0.1',
    'http://0.0.0.0',
    'ftp://localhost/',
    'file:///etc/passwd',
    'localhost:8080',
    'search.test',
    '',
    'https://search.test/?query=1',
    'https://search.test/#hash',
  ])('cause an OptionError if they are %j', baseUrl => {
    const error = optionErrorOf(() => account({ baseUrl }, {}));
    expect(error.option).toBe('baseUrl');
    expect(error.message).toContain('`baseUrl`');
  });

  it.each([
    `https://user:${CANARY}@search.test`,
    `https://${CANARY}@search.test`,
    `http://user:${CANARY}@search.test`,
    `https://user:${CANARY}@`,
    `user:${CANARY}@search.test`,
    `https://user:${CANARY}@search.test:99999`,
  ])('cause an OptionError that does not show the password in them: %s', baseUrl => {
    for (const act of [
      () => account({ baseUrl }, {}),
      () => account({}, { MILLRACE_BASE_URL: baseUrl }),
    ]) {
      const error = optionErrorOf(act);
      const shown = inspect(error, { depth: 9, showHidden: true });
      // The stack trace must not contain the password.
      expect(shown).not.toContain(CANARY);
    }
  });

  it('may use http if `insecureOrigins` contains their exact origin, even with credentials', () => {
    const baseUrl = 'http://millrace:8080/api';
    const login = { email: 'a@b.c', password: CANARY };
    const given = account({ baseUrl, insecureOrigins: ['http://millrace:8080'], ...login }, {});
    const fromVariables = account(login, {
      MILLRACE_URL: baseUrl,
      MILLRACE_INSECURE_ORIGINS: 'http://other:1,http://millrace:8080',
    });
    for (const acme of [given, fromVariables]) {
      expect(acme.settings.baseUrl?.href).toBe(baseUrl);
      expect(acme.basicFor(new URL(baseUrl))).toMatch(/^Basic /);
      expect(acme.basicFor(new URL('http://millrace:8081'))).toBeUndefined();
    }
  });

  it.each([
    'http://millrace',
    'http://millrace:8081',
    'http://millrace.test:8080',
    'http://evil.test/http://millrace:8080',
    'ftp://millrace:8080',
  ])('may not use http if `insecureOrigins` contains only another origin: %s', url => {
    const error = optionErrorOf(() =>
      account({ url, insecureOrigins: ['http://millrace:8080'] }, {}),
    );
    expect(error.option).toBe('url');
    expect(error.message).toContain('must be https');
  });

  it('cause an OptionError that suggests `insecureOrigins` if they use http', () => {
    const { message } = optionErrorOf(() => account({ url: 'http://millrace:8080/api' }, {}));
    expect(message).toContain("`insecureOrigins: ['http://millrace:8080']`");
    expect(message).toContain('MILLRACE_INSECURE_ORIGINS=http://millrace:8080');
    expect(optionErrorOf(() => account({ url: 'ftp://millrace' }, {})).message).not.toContain(
      'insecure',
    );
  });

  it.each([
    ['*'],
    ['http://*'],
    ['http://millrace:8080/'],
    ['http://Millrace:8080'],
    ['http://millrace:80'],
    ['http://user@millrace'],
    ['https://millrace'],
    ['millrace:8080'],
    [''],
    [7],
  ])('cause an OptionError for the invalid insecure origin %j', origin => {
    const options = { insecureOrigins: ['http://ok.test', origin as string] };
    const error = optionErrorOf(() => account(options, {}));
    expect(error.option).toBe('insecureOrigins');
    expect(error.message).toContain('must be exact origins of http');
  });

  it('cause an OptionError if `insecureOrigins` is not a list of origins', () => {
    const options = { insecureOrigins: unchecked<string[]>('http://millrace:8080') };
    expect(optionErrorOf(() => account(options, {})).option).toBe('insecureOrigins');
    const variables = { MILLRACE_INSECURE_ORIGINS: 'http://a.test/x' };
    const { option, message } = optionErrorOf(() => account({}, variables));
    expect(option).toBe('insecureOrigins');
    expect(message).toContain('`MILLRACE_INSECURE_ORIGINS` must be');
  });

  it('cause an OptionError with the name of their environment variable', () => {
    const error = optionErrorOf(() => account({}, { MILLRACE_RULES_URL: 'nowhere' }));
    expect(error.message).toContain('MILLRACE_RULES_URL');
    expect(error.option).toBe('rulesUrl');
  });
});

describe('settings of an account that are not URLs', () => {
  it.each([
    [{ email: 'a:b@c.d' }, 'email'],
    [{ email: 'a@b.c\r\nX-Evil: 1' }, 'email'],
    [{ password: 'line\nbreak' }, 'password'],
    [{ password: '' }, 'password'],
    [{ account: '..' }, 'account'],
    [{ label: '.' }, 'label'],
    [{ label: '\ud800' }, 'label'],
    [{ searchesPerMinute: 0 }, 'searchesPerMinute'],
    [{ searchesPerMinute: 1.5 }, 'searchesPerMinute'],
    [{ timeouts: { silenceMs: 0 } }, 'timeouts.silenceMs'],
    [{ timeouts: { responseMs: Number.NaN } }, 'timeouts.responseMs'],
    [{ retry: { attempts: 0 } }, 'retry.attempts'],
    [{ retry: { totalMs: -1 } }, 'retry.totalMs'],
    [{ limits: { search: [{ requests: 0, perMs: 1 }] } }, 'limits.search'],
  ])('cause an OptionError if their values are impossible: %j', (options, option) => {
    const error = optionErrorOf(() => account(options, {}));
    expect(error.option).toBe(option);
    expect(error.message).not.toContain('line');
    expect(error.message).not.toContain('Evil');
  });

  it('cause an OptionError if they have the wrong type', () => {
    const wrong = unchecked<{ password: string }>({ password: 12345, limits: { nothing: [] } });
    expect(optionErrorOf(() => account(wrong, {})).message).not.toContain('12345');
    expect(optionErrorOf(() => account({}, { MILLRACE_SEARCHES_PER_MINUTE: 'many' })).option).toBe(
      'searchesPerMinute',
    );
  });
});

describe('MILLRACE_URL', () => {
  const endpoints = [
    ...(['baseUrl', 'historicalUrl', 'replayStreamUrl', 'rulesUrl'] as const),
    ...(['complianceStreamUrl', 'accountApiUrl', 'oauthUrl', 'dataUrl'] as const),
  ];

  it('sets the URLs of all endpoints, but not of the console and status pages', () => {
    const { settings } = account({}, { MILLRACE_URL: 'https://one.test/api' });
    for (const name of endpoints) expect(settings[name]?.href).toBe('https://one.test/api');
    expect(settings.consoleUrl).toBeUndefined();
    expect(settings.statusUrl).toBeUndefined();
  });

  it('is overridden by a more specific variable or an option', () => {
    const environment = {
      MILLRACE_URL: 'https://one.test',
      MILLRACE_RULES_URL: 'https://rules.test',
    };
    const fromVariables = account({ dataUrl: 'https://data.test' }, environment).settings;
    expect(fromVariables.baseUrl?.host).toBe('one.test');
    expect(fromVariables.rulesUrl?.host).toBe('rules.test');
    expect(fromVariables.dataUrl?.host).toBe('data.test');
    const fromOption = account(
      { url: 'https://option.test', dataUrl: 'https://data.test' },
      environment,
    ).settings;
    expect(fromOption.rulesUrl?.host).toBe('option.test');
    expect(fromOption.dataUrl?.host).toBe('data.test');
  });

  it('is named only once in the error if it is invalid', () => {
    const { message } = optionErrorOf(() => account({}, { MILLRACE_URL: 'localhost:8787' }));
    expect(message).toMatch(/^account: `MILLRACE_URL` has no scheme[^`]*$/);
  });
});

it.each(['localhost:8787', 'search.example', 'search.example/base', '127.0.0.1:80/x'])(
  'the error for a URL without a scheme says that the scheme is missing: %s',
  baseUrl => {
    expect(optionErrorOf(() => account({ baseUrl }, {})).message).toMatch(
      /`baseUrl` has no scheme/,
    );
    expect(optionErrorOf(() => account({}, { MILLRACE_BASE_URL: baseUrl })).message).toMatch(
      /`MILLRACE_BASE_URL` has no scheme/,
    );
  },
);
