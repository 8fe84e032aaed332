import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { account, counts, jobs, preview, replayRules, search } from '../../../src/index.js';
import { warnOfRules } from '../../../src/rules/language/warn-of-rules.js';

// Every request of this account fails, so the warning must come before the first request.
const acme = account({
  url: 'http://127.0.0.1:1',
  account: 'acme',
  publisher: 'twitter',
  label: 'main',
  streamLabel: 'prod',
  email: 'a@b.example',
  password: 'x',
  retry: { attempts: 1 },
});
const product = '30day';
const nothing = AbortSignal.abort(new Error('nothing is sent'));

describe('the warning about a rule', () => {
  let warnings: string[] = [];
  beforeEach(() => {
    warnings = [];
    vi.spyOn(process, 'emitWarning').mockImplementation((warning, type) => {
      warnings.push(`${type}: ${warning}`);
    });
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('is emitted only once by search', () => {
    for (let i = 0; i < 2; i++) search(acme, { product, query: '#snow OR #ice lang:en' });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^RuleWarning: search: .*warning\[R106\].*make it a group/s);
  });

  it('is emitted again after 10,000 other rules, so that memory does not grow', () => {
    const warn = (...rules: string[]) => warnOfRules('search', 'search', rules);
    warn('hoar-frost');
    warn('hoar-frost');
    expect(warnings).toHaveLength(1);
    warn(...Array.from({ length: 10_000 }, (_, n) => `word${n}`));
    warn('hoar-frost');
    expect(warnings).toHaveLength(2);
  });

  it('shows the affected rule, not the packed query, in a search for many rules', () => {
    search(acme, { product, rules: [{ value: 'frost OR rime lang:en' }, { value: 'hail' }] });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('| frost OR rime lang:en');
  });

  it('is emitted by counts', () => {
    counts(acme, { product, query: 'sleet-storm' });
    expect(warnings[0]).toMatch(/^RuleWarning: counts: .*warning\[R104\]/s);
  });

  it('is emitted by preview', async () => {
    const asked = preview(acme, { product, query: 'fog OR mist lang:en' }, { signal: nothing });
    await expect(asked).rejects.toThrow('nothing is sent');
    expect(warnings).toHaveLength(1);
  });

  it('is emitted by jobs.create for at most five rules', async () => {
    const rules = Array.from({ length: 7 }, (_, i) => ({ value: `dew-${i}` }));
    const [title, fromDate, toDate] = ['Dew', '202001010000', '202001020000'];
    const request = { title, fromDate, toDate, dataFormat: 'original' as const, rules };
    await expect(jobs.create(acme, request, { signal: nothing })).rejects.toThrow();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]?.match(/R104/g)).toHaveLength(5);
    expect(warnings[0]).toContain('More rules have warnings');
  });

  it('is emitted by replayRules.add unless the service rejects the rule', async () => {
    const rules = [{ value: 'drizzle*' }, { value: 'mizzle* has:vidoes' }];
    await expect(replayRules.add(acme, rules, { signal: nothing })).rejects.toThrow(
      'nothing is sent',
    );
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^RuleWarning: replayRules\.add: .*warning\[R112\]/s);
    expect(warnings[0]).not.toContain('mizzle');
  });

  it('is not emitted for a rule without problems', () => {
    search(acme, { product, query: '(#snow OR #ice) lang:en' });
    expect(warnings).toEqual([]);
  });
});
