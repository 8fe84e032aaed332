import { describe, expect, it } from 'vitest';
import { flag, text, whole } from '../../src/base/check.js';
import { flagsOf } from '../../src/base/flags.js';
import { inFlags } from '../../src/command/exit-codes.js';

const FLAGS = flagsOf({
  fromDate: text('the start'),
  product: text('how far back'),
  budgetPosts: whole('posts'),
  incremental: flag('whether'),
});
const told = (message: string) => inFlags(message, FLAGS, ['search', 'jobs.run']);

describe('inFlags', () => {
  it('says how to decompress input instead of naming the stage gunzip()', () => {
    expect(told('These bytes are gzip; put gunzip() first (line 1, byte 0)')).toBe(
      'These bytes are gzip; decompress them first, as zcat does (line 1, byte 0)',
    );
  });

  it.each([
    ['search: `fromDate` is late', '--from-date is late'],
    ['jobs.run: `fromDate` is late', '--from-date is late'],
    ['search: `budget.posts` is 3', '--budget-posts is 3'],
    [
      "Old. For older posts, pass `product: 'fullarchive'`",
      'Old. For older posts, pass --product fullarchive',
    ],
    ['Missing: 1. Pass `onGap` to handle this', 'Missing: 1'],
    [
      'It gave up. Run it again later; without a checkpoint, pass the cursor as `resume`',
      'It gave up. Run it again later',
    ],
    ['`query` is wrong.\nerror: `the`', 'QUERY is wrong\nerror: `the`'],
    [
      '`email` is needed for jobs: pass it to account() or set MILLRACE_EMAIL',
      '`email` is needed for jobs: set MILLRACE_EMAIL',
    ],
    [
      'Settings are missing: `label` (MILLRACE_LABEL). Pass them to account() or set the variables of the environment; more',
      'Settings are missing: MILLRACE_LABEL. Set the variables, or name a file of them by --env-file; more',
    ],
  ])('replaces the option names of the library in %j with flags', (message, expected) => {
    expect(told(message)).toBe(expected);
  });
});
