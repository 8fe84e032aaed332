import { describe, expect, it } from 'vitest';
import { account } from '../../src/http/account.js';
import { clientLimits, limitsOf } from '../../src/service/http/service-limits.js';
import { createService, type ServiceOptions } from '../../src/service/index.js';
import { settingsOf } from '../../src/service/service-options.js';
import { FIRST_POST } from '../../src/time.js';
import { unchecked } from '../unchecked.js';

function messageOf(options: object): string[] {
  try {
    createService(options as ServiceOptions);
  } catch (error) {
    return (error as Error).message.split('\n');
  }
  return [];
}

describe('a service option', () => {
  it.each([
    [{ archive: '' }, 'archive'],
    [{ archive: 5 }, 'archive'],
    [{ archive: null }, 'archive'],
    [{ format: 'xml' }, 'format'],
    [{ seed: {} }, 'seed'],
    [{ postsPerMinute: -1 }, 'postsPerMinute'],
    [{ postsPerMinute: 20_001 }, 'postsPerMinute'],
    [{ limits: { searchRate: null } }, 'limits.searchRate'],
    [{ perMinuteLimit: 1.5 }, 'perMinuteLimit'],
    [{ perMinuteLimit: Number.NaN }, 'perMinuteLimit'],
    [{ account: 'a/b' }, 'account'],
    [{ label: '' }, 'label'],
    [{ email: 'a:b' }, 'email'],
    [{ duplicatesAtPageEdges: 'yes' }, 'duplicatesAtPageEdges'],
    [{ countsOrder: 'up' }, 'countsOrder'],
    [{ countsTimeoutMs: -1 }, 'countsTimeoutMs'],
    [{ control: 0 }, 'control'],
    [{ streamLabel: 'a/b' }, 'streamLabel'],
    [{ complianceLabel: '' }, 'complianceLabel'],
    [{ heartbeatMs: 0 }, 'heartbeatMs'],
    [{ heartbeatMs: 2 ** 31 }, 'heartbeatMs'],
    [{ streamBacklogBytes: 1.5 }, 'streamBacklogBytes'],
    [{ replayPostsPerSecond: 0 }, 'replayPostsPerSecond'],
    [{ complianceRate: 1.1 }, 'complianceRate'],
    [{ complianceRate: Number.NaN }, 'complianceRate'],
    [{ publisher: 'a/b' }, 'publisher'],
    [{ jobDwellMs: -1 }, 'jobDwellMs'],
    [{ jobDwellMs: { quoted: 5 } }, 'jobDwellMs.quoted'],
    [{ jobDwellMs: { running: '5' } }, 'jobDwellMs.running'],
    [{ jobDollarsPerDay: Number.POSITIVE_INFINITY }, 'jobDollarsPerDay'],
    [{ jobInfoLine: 'no' }, 'jobInfoLine'],
    [{ fileUrlMs: 0 }, 'fileUrlMs'],
    [{ filesPort: 70_000 }, 'filesPort'],
    [{ stateFolder: '' }, 'stateFolder'],
    [{ onError: true }, 'onError'],
    [{ limits: 'none' }, 'limits'],
    [{ limits: { searchRate: 5 } }, 'limits.searchRate'],
    [{ limits: { searchRate: { requests: 5, perMs: 0 } } }, 'limits.searchRate'],
    [{ limits: { searchSpeed: 5 } }, 'limits.searchSpeed'],
    [{ limits: { maxResultsMax: '5' } }, 'limits.maxResultsMax'],
    [{ host: '' }, 'host'],
    [{ host: '0.0.0.0:8080' }, 'host'],
    [{ host: 'http://box' }, 'host'],
    [{ host: 'fe80::1%eth0' }, 'host'],
    [{ host: '1:2' }, 'host'],
    [{ token: 'fifteen-letters' }, 'token'],
    [{ token: 'with a blank in it' }, 'token'],
    [{ host: '0.0.0.0', filesPort: 8081 }, 'filesPort'],
    [{ folder: 'x' }, 'folder'],
    [{ toString: 'x' }, 'toString'],
  ])('is refused before the service listens if it cannot work: %j', (options, option) => {
    expect(() => createService(options as ServiceOptions)).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION', option }),
    );
  });

  it.each([
    [{ arcive: 'downloads' }, 'unknown option `arcive`; did you mean `archive`?'],
    [{ heartbeatMS: 5 }, 'unknown option `heartbeatMS`; did you mean `heartbeatMs`?'],
    [
      { limits: { searchrate: { requests: 1, perMs: 1 } } },
      'unknown option `limits.searchrate`; did you mean `limits.searchRate`?',
    ],
    [
      { jobDwellMs: { runing: 5 } },
      'unknown option `jobDwellMs.runing`; did you mean `jobDwellMs.running`?',
    ],
  ])('is refused with the nearest name if it is unknown: %j', (options, message) => {
    expect(() => createService(options as ServiceOptions)).toThrow(message);
  });

  it('is reported together with all other wrong options', () => {
    const options = {
      arcive: 'downloads',
      heartbeatMs: 0,
      jobDwellMs: { runing: 5, opened: -1 },
      limits: { searchrate: 5, queryPhrases: 'x' },
    };
    expect(messageOf(options)).toEqual([
      'createService: unknown option `arcive`; did you mean `archive`?',
      'createService: unknown option `limits.searchrate`; did you mean `limits.searchRate`?',
      'createService: `limits.queryPhrases` must be a number, 0 or more, got "x"',
      'createService: unknown option `jobDwellMs.runing`; did you mean `jobDwellMs.running`?',
      'createService: `jobDwellMs.opened` must be milliseconds, 0 or more, got -1',
      'createService: `heartbeatMs` must be milliseconds from 1 to 2147483647, got 0',
    ]);
    expect(messageOf({ limits: 'none', jobDwellMs: 'long' })).toEqual([
      "createService: `limits` must be 'strict' or 'relaxed', or an object, got \"none\"",
      'createService: `jobDwellMs` must be milliseconds, 0 or more, or an object with any of opened, estimating, accepted, running, completed, got "long"',
    ]);
  });

  it('has a random token by default on other hosts than loopback, and none there', () => {
    const tokenOf = (host: string) => settingsOf({ host }).token;
    for (const host of ['127.0.0.1', '127.9.9.9', 'localhost', 'LOCALHOST', '::1', '[::1]'])
      expect(tokenOf(host), host).toBeUndefined();
    const hosts = [
      '0.0.0.0',
      '::',
      '[::]',
      '192.0.2.2',
      'box',
      'localhost.example',
      '::ffff:127.0.0.1',
    ];
    const tokens = hosts.map(tokenOf);
    for (const token of tokens) expect(token).toMatch(/^[\w-]{32}$/);
    expect(new Set(tokens).size).toBe(hosts.length);
    expect(settingsOf({ token: 'sixteen-letters.' }).token).toBe('sixteen-letters.');
  });

  it('never shows the token in its error', () => {
    expect(() => createService({ token: 'guessable' })).toThrow(
      /^createService: `token` must be at least 16 letters, digits or -\._~\+\/=$/,
    );
  });

  it('never shows the password in its error', () => {
    const password = unchecked<string>(['s3cret']);
    expect(() => createService({ password })).toThrow(
      /^createService: `password` must be a string that is not empty, without control characters$/,
    );
  });
});

describe('the table of limits', () => {
  it('has the limits of search', () => {
    expect(limitsOf('strict')).toMatchObject({
      queryCharacters: 2048,
      queryPhrases: 100,
      maxResultsMin: 10,
      maxResultsMax: 500,
      maxResultsDefault: 100,
      responseSpanMs: 31 * 86_400_000,
      thirtyDaySpanMs: 31 * 86_400_000,
      searchRate: { requests: 20, perMs: 1000 },
      searchEarliest: FIRST_POST,
      searchDelayMs: 30_000,
    });
  });

  it('has the limits of the streams', () => {
    expect(limitsOf('strict')).toMatchObject({
      replayConnectRate: { requests: 5, perMs: 300_000 },
      replayReachMs: 5 * 86_400_000,
      replayFromAgeMs: 31 * 60_000,
      replayToAgeMs: 30 * 60_000,
      ruleChangeBytes: 1_000_000,
      ruleChangeRate: { requests: 5, perMs: 5_000 },
      ruleReadBytes: 5_000_000,
      ruleReadRate: { requests: 60, perMs: 60_000 },
      complianceConnectRate: { requests: 10, perMs: 60_000 },
      streamReadTimeoutMs: 30_000,
    });
  });

  it('differs only in the numbers of requests if it is relaxed', () => {
    const strict = limitsOf('strict');
    const relaxed = limitsOf('relaxed');
    for (const [name, limit] of Object.entries(strict))
      expect(relaxed[name as keyof typeof relaxed]).toEqual(
        typeof limit === 'object' ? { ...limit, requests: Number.POSITIVE_INFINITY } : limit,
      );
  });

  it('tells clients which of their rates it relaxes, in the form that `account()` takes', () => {
    const families = ['search', 'jobReads', 'jobCreation', 'replay', 'compliance'];
    const none = Object.fromEntries([...families, 'replayRules', 'usage'].map(name => [name, []]));
    expect(clientLimits(limitsOf('relaxed'))).toEqual(none);
    expect(clientLimits(limitsOf('strict'))).toEqual({});
    const some = { replayConnectRate: { requests: 50, perMs: 60_000 } };
    expect(clientLimits(limitsOf(some))).toEqual({ replay: [some.replayConnectRate] });
    const changes = { ruleChangeRate: { requests: Number.POSITIVE_INFINITY, perMs: 1 } };
    const told = clientLimits(limitsOf(changes));
    expect(told).toEqual({ replayRules: [{ requests: 60, perMs: 60_000 }] });
    // A stricter service is met with 429, as the real one would be where it is stricter than documented.
    const strict = { searchRate: { requests: 1, perMs: 1_000 } };
    expect(clientLimits(limitsOf(strict))).toEqual({});
    const url = new URL('http://127.0.0.1:7');
    for (const limits of ['relaxed', 'strict', some, changes, strict] as const)
      account({ limits: clientLimits(limitsOf(limits)), account: 'a' }, {});
    const acme = account({ limits: told, account: 'told' }, {});
    expect(acme.rateLimiter('replayRules', url).rates).toMatchObject(told.replayRules ?? []);
  });

  it('accepts changes of single numbers', () => {
    const limits = limitsOf({ searchDelayMs: 0, searchRate: { requests: 2, perMs: 10 } });
    expect(limits).toEqual({
      ...limitsOf('strict'),
      searchDelayMs: 0,
      searchRate: { requests: 2, perMs: 10 },
    });
  });
});
