import { describe, expect, it } from 'vitest';
import { parseExact } from '../../../src/json/exact-ids.js';
import { type JobReply, localJobs } from './local-jobs.js';

interface RuleDetail {
  readonly rule: { readonly value: string; readonly tag: string | null; readonly id?: string };
  readonly created: boolean;
  readonly message?: string;
}

interface RulesObject {
  readonly summary: { readonly created: number; readonly not_created: number };
  readonly detail: readonly RuleDetail[];
  readonly sent: string;
}

function rulesOf({ text }: JobReply): RulesObject {
  return (parseExact(text) as { rules: RulesObject }).rules;
}

describe('the rules of a new job', () => {
  it('get unique integer ids that a double cannot represent', async () => {
    const jobs = await localJobs();
    const rules = Array.from({ length: 1000 }, (_, i) => ({ value: `word${i}` }));
    const ids: string[] = [];
    for (const title of ['a', 'b']) {
      const reply = await jobs.post({ title, rules });
      expect(reply.text).toMatch(/"value":"word7","tag":null,"id":\d{19}\}/);
      ids.push(...rulesOf(reply).detail.map(({ rule }) => String(rule.id)));
    }
    expect(new Set(ids).size).toBe(2000);
    expect(ids.every(id => BigInt(id) > 2n ** 53n && BigInt(id) < 2n ** 63n)).toBe(true);
  });

  it('may contain a language code that the table of languages lacks', async () => {
    const jobs = await localJobs();
    const reply = await jobs.post({ rules: [{ value: 'lang:qqq' }] });
    expect(rulesOf(reply).summary).toEqual({ created: 1, not_created: 0 });
  });

  it('are all rejected if one is invalid, with a reason for each', async () => {
    const jobs = await localJobs();
    const reply = await jobs.post({ rules: [{ value: 'tea', tag: 'ok' }, { value: '-tea' }] });
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text)).toMatchObject({
      title: 'small',
      status: 'error',
      statusMessage: 'Invalid Rules, see details.',
      reason: 'Invalid Rules, see details.',
    });
    expect(rulesOf(reply)).toEqual({
      summary: { created: 0, not_created: 2 },
      detail: [
        { rule: { value: 'tea', tag: 'ok' }, created: false },
        {
          rule: { value: '-tea', tag: null },
          created: false,
          message:
            'Rules must contain a non-negation term (at position 1)\n' +
            'Rules must contain at least one positive, non-stopword clause (at position 1)\n',
        },
      ],
      sent: '2024-05-15T12:34:56.789Z',
    });
    expect((await jobs.list()).jobs).toEqual([]);
  });

  it('may contain operators that search does not have', async () => {
    const jobs = await localJobs();
    expect((await jobs.post({ rules: [{ value: 'contains:te' }] })).status).toBe(201);
  });

  it('may consist of operators that search accepts only together with others', async () => {
    const jobs = await localJobs();
    const value = '((has:mentions OR has:media) is:verified) -is:retweet -is:nullcast';
    expect((await jobs.post({ rules: [{ value }] })).status).toBe(201);
  });

  it('are created once even if the request contains a rule twice', async () => {
    const jobs = await localJobs();
    const rules = rulesOf(
      await jobs.post({
        rules: [
          { value: 'tea', tag: 'a' },
          { value: 'tea', tag: 'b' },
        ],
      }),
    );
    expect(rules.summary).toEqual({ created: 1, not_created: 1 });
    expect(rules.detail[1]).toEqual({
      rule: { value: 'tea', tag: 'b' },
      created: false,
      message: 'A rule with this value already exists',
    });
  });
});
