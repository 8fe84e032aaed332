import { describe, expect, it } from 'vitest';
import { whole } from '../../src/base/check.js';
import { OptionError } from '../../src/base/errors.js';
import { DAY } from '../../src/base/time.js';
import { account } from '../../src/http/account.js';
import { checkQuery, row } from '../../src/search/query.js';
import { SEARCH_OPTIONS, type SearchOptions, search } from '../../src/search/search.js';
import { unchecked } from '../unchecked.js';
import { PASSWORD, testAccount } from './paged-service.js';
import { SNOW, server, setUpServer } from './scripted-search.js';

setUpServer();

describe('the options of search()', () => {
  const now = Date.UTC(2024, 0, 31, 12);
  const bad: [string, Record<string, unknown>][] = [
    ['query', { query: undefined }],
    ['query', { query: '' }],
    ['query', { query: ' \n' }],
    ['query', { query: 5 }],
    ['query', { query: 'a'.repeat(2049) }],
    ['query', { query: '🎉'.repeat(2049) }],
    ['query', { query: 'half \ud83c' }],
    ['product', { product: undefined }],
    ['product', { product: '7day' }],
    ['method', { method: 'PUT' }],
    ['maxResults', { maxResults: 9 }],
    ['maxResults', { maxResults: 501 }],
    ['maxResults', { maxResults: 10.5 }],
    ['maxResults', { maxResults: '100' }],
    ['maxResults', { maxResults: Number.NaN }],
    ['fromDate', { fromDate: '20240101' }],
    ['fromDate', { fromDate: '202402300000' }],
    ['fromDate', { fromDate: new Date('nothing') }],
    ['fromDate', { fromDate: 202401010000 }],
    ['toDate', { toDate: '2024-01-01' }],
    ['toDate', { fromDate: '202401020000', toDate: '202401010000' }],
    ['toDate', { fromDate: '202401020000', toDate: '202401020000' }],
    ['fromDate', { fromDate: '200603202359' }],
    ['toDate', { fromDate: undefined, toDate: '200603210000' }],
    ['limit', { limit: 0 }],
    ['limit', { limit: 1.5 }],
    ['pages', { pages: -1 }],
    ['tag', { tag: '' }],
    ['next', { next: '' }],
    ['label', { label: '' }],
    ['slices', { slices: 0 }],
    ['slices', { slices: 2, limit: 5 }],
    ['slices', { slices: 2, pages: 5 }],
    ['slices', { slices: 2, next: 'token' }],
    ['next', { next: 'token', resume: {} }],
    ['fromdate', { fromdate: '202401010000' }],
    ['maxresults', { maxresults: 10 }],
  ];

  it.each(bad)('cause an OptionError before anything is sent: %s of %j', (option, options) => {
    const act = () => search(testAccount(server), { ...SNOW, ...options } as SearchOptions);
    expect(act).toThrow(OptionError);
    try {
      act();
    } catch (error) {
      expect((error as OptionError).option).toBe(option);
      expect((error as OptionError).message).toContain(`\`${option}\``);
    }
    expect(server.sockets.size).toBe(0);
  });

  it.each([
    ['a query of 2,048 letters', { query: 'a'.repeat(2048) }],
    ['a query of 2,048 emoji', { query: '🎉'.repeat(2048) }],
    ['a page of 500 posts', { maxResults: 500 }],
    ['the date of the first post', { fromDate: '200603210000' }],
    [
      'the last 31 days in 30day',
      { product: '30day' as const, fromDate: new Date(now - 31 * DAY), toDate: undefined },
    ],
  ])('are accepted at their limits: %s', (_, options) => {
    expect(() => search(testAccount(server), { ...SNOW, ...options })).not.toThrow();
  });

  it('cause an OptionError if they are missing, and so does a missing account', () => {
    const call = unchecked<(...args: unknown[]) => unknown>(search);
    expect(() => call(testAccount(server))).toThrow(OptionError);
    expect(() => call({ baseUrl: server.url }, SNOW)).toThrow(OptionError);
    expect(() => call(undefined, SNOW)).toThrow('made by `account()`');
  });

  it('cause an error that names the setting if the account lacks a setting for searches', () => {
    const settings = {
      baseUrl: server.url,
      account: 'a',
      label: 'b',
      email: 'c',
      password: PASSWORD,
    };
    for (const name of Object.keys(settings) as (keyof typeof settings)[]) {
      const { [name]: _missing, ...rest } = settings;
      expect(() => search(account(rest, {}), SNOW)).toThrow(`\`${name}\` is needed for searches`);
    }
    const { label: _label, ...unlabelled } = settings;
    expect(() => search(account(unlabelled, {}), { ...SNOW, label: 'x' })).not.toThrow();
  });
});

describe('a row of the table of search options', () => {
  const rows = {
    ...SEARCH_OPTIONS,
    depth: row({ isParameter: true, identifies: 'cursor', flag: {} }, whole('a new option')),
    pace: row({ identifies: 'checkpoint' }, whole('another')),
    other: whole('of this run alone'),
  };
  const prepare = (own: { readonly [name: string]: unknown }) =>
    checkQuery('search', testAccount(server), rows, { ...SNOW, ...own }, {});

  it('determines whether the option is sent, and whether the cursor or the checkpoint includes it', () => {
    const { params, identity, checkpointIdentity } = prepare({ depth: 3, pace: 4, other: 5 });
    expect(params).toMatchObject({ query: SNOW.query, depth: 3 });
    expect(params).not.toHaveProperty('pace');
    expect(identity).toMatchObject({ depth: 3 });
    expect(identity).not.toHaveProperty('pace');
    expect(checkpointIdentity).toMatchObject({ depth: 3, pace: 4 });
    for (const named of [params, identity, checkpointIdentity])
      expect(named).not.toHaveProperty('other');
  });

  it('includes the label of the account in the identity by default', () => {
    const labelled = (label: string) =>
      checkQuery('search', testAccount(server, { label }), rows, SNOW, {});
    expect(labelled('prod').identity).toMatchObject({ label: 'prod' });
    expect(labelled('dev').identity).not.toEqual(labelled('prod').identity);
    expect(prepare({ label: 'own' }).checkpointIdentity).toMatchObject({ label: 'own' });
  });

  it('adds nothing to the request and the cursor if the option has no value', () => {
    const { params, identity } = prepare({});
    expect(Object.keys({ ...params, ...identity })).not.toContain('depth');
  });
});
