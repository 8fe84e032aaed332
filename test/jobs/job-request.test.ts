import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { DAY, floorTo, formatTimestamp, MINUTE } from '../../src/base/time.js';
import {
  checkJobRequest,
  countJobDays,
  type JobRequest,
  plainTitle,
  titleWithRules,
} from '../../src/jobs/job-request.js';
import { REQUEST } from './job-account.js';

describe('countJobDays', () => {
  it.each([
    ['201201010000', '201201020000', 1],
    ['201201010001', '201201020001', 2],
    ['201201010000', '201201020001', 2],
    ['201201010000', '201201010001', 1],
    ['201202280000', '201203010000', 2],
  ])('for a window from %s to %s returns %i', (fromDate, toDate, days) => {
    expect(countJobDays(fromDate, toDate)).toBe(days);
  });

  it('returns the number of days of which the window contains a minute', () => {
    const minute = fc
      .integer({ min: 0, max: 4 * 1440 })
      .map(n => Date.UTC(2016, 1, 27) + n * MINUTE);
    fc.assert(
      fc.property(minute, minute, (from, to) => {
        fc.pre(from < to);
        const days = new Set<number>();
        for (let at = from; at < to; at += MINUTE) days.add(floorTo(DAY, at));
        expect(countJobDays(formatTimestamp(from), new Date(to))).toBe(days.size);
      }),
    );
  });

  it.each([
    ['201201020000', '201201020000'],
    ['201201020000', '201201010000'],
    ['201201320000', '201202010000'],
  ])('throws an error for the window from %s to %s', (fromDate, toDate) => {
    expect(() => countJobDays(fromDate, toDate)).toThrow(OptionError);
  });
});

const check = (changes: Partial<Record<string, unknown>> = {}) =>
  checkJobRequest('jobs.create', { ...REQUEST, ...changes } as JobRequest);

describe('the request that creates a job', () => {
  it("has dates in the service's format, and tags only for rules that have one", () => {
    expect(check()).toEqual({
      ...REQUEST,
      toDate: '201401020000',
      rules: [{ value: 'snow lang:en', tag: 'a' }, { value: 'rain' }, { value: '"ice é🎉"' }],
    });
  });

  const WRONG: readonly [string, Partial<Record<string, unknown>>, RegExp][] = [
    ['title', { title: ' ' }, /not empty/],
    ['title', { title: 'a\nb' }, /control/],
    ['fromDate', { fromDate: '201413010000' }, /must be a UTC time such as '202401312359'/],
    ['fromDate', { fromDate: '200001010000' }, /21 March 2006/],
    ['toDate', { toDate: '201401010000' }, /must be after/],
    ['dataFormat', { dataFormat: 'activity-streams' }, /activity_streams/],
    ['rules', { rules: [] }, /at least one/],
    [
      'rules',
      { rules: Array.from({ length: 1001 }, (_, i) => ({ value: `word${i}` })) },
      /at most 1000/,
    ],
    [
      'rules',
      { rules: [{ value: 'a b' }, { value: 'x' }, { value: 'a b' }] },
      /Rule 3 of `rules`:\nerror: the same value as rule 1/,
    ],
    ['rules', { rules: [{ value: 'x', tag: 'y'.repeat(256) }] }, /Rule 1/],
    ['rules', { rules: ['coffee'] } as object, /^jobs.create: `rules` .* \{ value: 'coffee' \} in/],
    ['rules', { rules: [{}] }, /`value` must be a string/],
    ['rule', { rule: 'x' } as object, /unknown option `rule`; did you mean `rules`/],
  ];
  it.each(WRONG.map(([option, bad, expected]) => [option, expected, bad] as const))(
    'causes an OptionError for `%s` that matches %s',
    (option, expected, bad) => {
      const act = () => check(bad);
      expect(act).toThrow(OptionError);
      expect(act).toThrow(expected);
      expect(act).toThrow(expect.objectContaining({ option }));
    },
  );

  it('causes an error with the problems of all rules and their positions', () => {
    const act = () =>
      check({ rules: [{ value: 'cat has:vidoes' }, { value: 'fine' }, { value: '-dog' }] });
    expect(act).toThrow(/Rule 1 of `rules`:.*did you mean `videos`\?.*Rule 3 of/s);
    expect(act).not.toThrow(/Rule 2/);
  });

  it('may contain 1,000 rules', () => {
    const rules = Array.from({ length: 1000 }, (_, i) => ({ value: `word${i}` }));
    expect(check({ rules }).rules).toEqual(rules);
  });
});

describe('the title that jobs.run sends', () => {
  it('contains a hash of the rules that is the same for any order of the rules', () => {
    const { rules } = check();
    const title = titleWithRules(check());
    expect(title).toMatch(/^snow \(rules [0-9a-f]{8}\)$/);
    expect(titleWithRules(check({ rules: rules.toReversed() }))).toBe(title);
    expect(titleWithRules(check({ title }))).toBe(title);
    expect(titleWithRules(check({ rules: rules.slice(1) }))).not.toBe(title);
    expect(plainTitle(title)).toBe('snow');
  });
});
