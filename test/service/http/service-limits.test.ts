import { describe, expect, it } from 'vitest';
import { FIRST_POST } from '../../../src/base/time.js';
import { account } from '../../../src/http/account.js';
import { clientLimits, limitsOf } from '../../../src/service/http/service-limits.js';

describe('limitsOf', () => {
  it('returns the documented limits of search', () => {
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

  it('returns the documented limits of the streams', () => {
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

  it('returns relaxed limits that differ only in the request rates', () => {
    const strict = limitsOf('strict');
    const relaxed = limitsOf('relaxed');
    for (const [name, limit] of Object.entries(strict))
      expect(relaxed[name as keyof typeof relaxed]).toEqual(
        typeof limit === 'object' ? { ...limit, requests: Number.POSITIVE_INFINITY } : limit,
      );
  });

  it('returns limits that clientLimits converts to the `limits` option of account()', () => {
    const families = ['search', 'jobReads', 'jobCreation', 'replay', 'compliance'];
    const none = Object.fromEntries([...families, 'replayRules', 'usage'].map(name => [name, []]));
    expect(clientLimits(limitsOf('relaxed'))).toEqual(none);
    expect(clientLimits(limitsOf('strict'))).toEqual({});
    const some = { replayConnectRate: { requests: 50, perMs: 60_000 } };
    expect(clientLimits(limitsOf(some))).toEqual({ replay: [some.replayConnectRate] });
    const changes = { ruleChangeRate: { requests: Number.POSITIVE_INFINITY, perMs: 1 } };
    const told = clientLimits(limitsOf(changes));
    expect(told).toEqual({ replayRules: [{ requests: 60, perMs: 60_000 }] });
    // Stricter limits are not reported to clients. A client gets a 429, as it would from a real
    // service that is stricter than its documentation says.
    const strict = { searchRate: { requests: 1, perMs: 1_000 } };
    expect(clientLimits(limitsOf(strict))).toEqual({});
    const url = new URL('http://127.0.0.1:7');
    for (const limits of ['relaxed', 'strict', some, changes, strict] as const)
      account({ limits: clientLimits(limitsOf(limits)), account: 'a' }, {});
    const acme = account({ limits: told, account: 'told' }, {});
    expect(acme.rateLimiter('replayRules', url).rates).toMatchObject(told.replayRules ?? []);
  });

  it('replaces only the limits that the caller sets', () => {
    const limits = limitsOf({ searchDelayMs: 0, searchRate: { requests: 2, perMs: 10 } });
    expect(limits).toEqual({
      ...limitsOf('strict'),
      searchDelayMs: 0,
      searchRate: { requests: 2, perMs: 10 },
    });
  });
});
