import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { flag, oneOf, secret, special, text, whole } from '../../src/base/check.js';
import { flagsOf, helpOf, optionsOf, parseFlags, readFlags } from '../../src/base/flags.js';
import { parseShard, SHARD_OPTION } from '../../src/base/shard.js';
import { SHARED_FLAGS } from '../../src/command/command.js';

const TABLE = {
  fromDate: text('the start'),
  limit: whole('posts in all'),
  product: oneOf('how far back', ['30day', 'fullarchive']),
  columns: special<readonly string[]>('names', 'a list', value => Array.isArray(value)),
  isFast: flag('whether it is fast'),
};
const FLAGS = flagsOf(TABLE, ['fromDate', 'limit', 'product', 'columns', 'isFast']);

describe('command-line flags', () => {
  it('are named after their options, in kebab-case', () => {
    expect(FLAGS.map(({ name }) => name)).toEqual([
      ...['from-date', 'limit', 'product', 'columns', 'is-fast'],
    ]);
    expect(FLAGS.filter(({ isSwitch }) => isSwitch).map(({ name }) => name)).toEqual(['is-fast']);
    const help = helpOf(FLAGS);
    expect(help).toContain('  --product <30day|fullarchive>  how far back\n');
    expect(help).toContain('  --limit <number>               posts in all\n');
    expect(help).toContain('  --is-fast                      whether it is fast\n');
  });

  it('convert a valid argument to the type of its option, and keep an invalid argument unchanged', () => {
    const given = {
      limit: '12',
      columns: 'id, text',
      'from-date': '2024',
      'is-fast': true,
    } as const;
    expect(optionsOf(FLAGS, given)).toEqual({
      limit: 12,
      columns: ['id', 'text'],
      fromDate: '2024',
      isFast: true,
    });
    expect(optionsOf(FLAGS, { limit: '' })).toEqual({ limit: '' });
    expect(optionsOf(FLAGS, { limit: ' ' })).toEqual({ limit: ' ' });
    expect(optionsOf(FLAGS, { limit: 'many', product: '31day' })).toEqual({
      limit: 'many',
      product: '31day',
    });
  });

  it('show their default in the help, but pass no value unless the command line sets one', () => {
    const flags = flagsOf(TABLE, ['product', 'limit'], {
      product: { fallback: '30day' },
      limit: { shownDefault: 'all' },
    });
    expect(helpOf(flags)).toMatch(
      /how far back \(default 30day\)\n.*posts in all \(default all\)\n/,
    );
    expect(optionsOf(flags, {})).toEqual({ product: '30day' });
  });

  it.each([
    [['--form-date', 'x'], 'there is no flag --form-date; did you mean --from-date?'],
    [['--frm', 'x'], 'there is no flag --frm; did you mean --from?'],
    [['-x'], 'there is no flag -x. Put -- before an argument that begins with -'],
    [['-is:retweet'], 'there is no flag -is:retweet. Put --'],
    [['--limit'], '--limit needs a value, --limit <number>'],
    [['--limit', '--is-fast'], '--limit needs a value'],
    [['--limit', '--from', '2024'], '--limit needs a value'],
    [['--is-fast=yes'], '--is-fast takes no value'],
    [['--limit', '1', '--limit=2'], '--limit is given twice'],
    [['--from', '2023', '--from-date', '2024'], '--from-date is given twice'],
  ])('refuse the arguments %j with a message about flags, not options', (args, problem) => {
    expect(() => parseFlags('millrace search', [...FLAGS, ...SHARED_FLAGS], args)).toThrow(
      `millrace search: ${problem}`,
    );
  });

  it('accept -h, the short form --from, values that begin with a dash, and arguments after --', () => {
    const flags = [...FLAGS, ...SHARED_FLAGS];
    const args = ['a', '-h', '--from', '2024', '--limit', '-5', '--columns=-', '--', '--from'];
    expect(parseFlags('millrace search', flags, args)).toEqual({
      values: { help: true, 'from-date': '2024', limit: '-5', columns: '-' },
      positionals: ['a', '--from'],
    });
  });

  it('accept a value after an equals sign even if it looks like another flag', () => {
    expect(parseFlags('millrace search', FLAGS, ['--from-date=--limit', '--limit=5'])).toEqual({
      values: { 'from-date': '--limit', limit: '5' },
      positionals: [],
    });
  });

  it('convert an argument to a shard, to milliseconds or to a list, depending on the option', () => {
    const flags = flagsOf(
      { shard: SHARD_OPTION, waitMs: whole('wait'), urls: TABLE.columns },
      undefined,
      { waitMs: { name: 'wait-seconds', unit: 1000 }, urls: { name: 'url', isRepeated: true } },
    );
    const args = ['--shard', '2/8', '--wait-seconds', '0.5', '--url', 'a,b', '--url=c'];
    expect(readFlags('x', flags, args)).toEqual({
      shard: parseShard('2/8'),
      waitMs: 500,
      urls: ['a,b', 'c'],
    });
    expect(readFlags('x', flags, ['--shard=9/8', '--wait-seconds=soon'])).toEqual({
      shard: '9/8',
      waitMs: 'soon',
    });
  });

  it('can turn off an option that is on by default', () => {
    const flags = flagsOf({ isSlow: flag('whether it is slow', true) });
    expect(readFlags('x', flags, ['--is-slow'])).toEqual({ isSlow: false });
    expect(readFlags('x', flags, [])).toEqual({});
  });

  it('refuse an argument if the command takes only flags', () => {
    expect(() => readFlags('millrace-service', FLAGS, ['x', '--limit', '1'])).toThrow(
      'millrace-service: takes no argument, got x',
    );
  });

  it('do not show the default of a secret in the help', () => {
    expect(helpOf(flagsOf({ password: secret('the login', 'sesame') }))).not.toContain('sesame');
  });

  it('pass a string to a string option unchanged', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), value => {
        const { fromDate } = optionsOf(FLAGS, { 'from-date': value });
        expect(fromDate).toBe(TABLE.fromDate.accepts(value) ? value : fromDate);
      }),
    );
  });
});
