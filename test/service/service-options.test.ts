import { describe, expect, it } from 'vitest';
import { createService, type ServiceOptions } from '../../src/service/index.js';
import { serviceSettings } from '../../src/service/service-options.js';
import { unchecked } from '../unchecked.js';

function messageOf(options: object): string[] {
  try {
    createService(options as ServiceOptions);
  } catch (error) {
    return (error as Error).message.split('\n');
  }
  return [];
}

describe('an option of createService', () => {
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
  ])(
    'causes an OptionError before the service listens if its value is impossible: %j',
    (options, option) => {
      expect(() => createService(options as ServiceOptions)).toThrow(
        expect.objectContaining({ code: 'ERR_OPTION', option }),
      );
    },
  );

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
  ])('causes an error that suggests the nearest name if it is unknown: %j', (options, message) => {
    expect(() => createService(options as ServiceOptions)).toThrow(message);
  });

  it('is named in one error together with all other wrong options', () => {
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

  it('`token` is random by default unless the host is loopback', () => {
    const tokenOf = (host: string) => serviceSettings({ host }).token;
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
    expect(serviceSettings({ token: 'sixteen-letters.' }).token).toBe('sixteen-letters.');
  });

  it('`token` is never shown in an error', () => {
    expect(() => createService({ token: 'guessable' })).toThrow(
      /^createService: `token` must be at least 16 letters, digits or -\._~\+\/=$/,
    );
  });

  it('`password` is never shown in an error', () => {
    const password = unchecked<string>(['s3cret']);
    expect(() => createService({ password })).toThrow(
      /^createService: `password` must be a string that is not empty, without control characters$/,
    );
  });
});
