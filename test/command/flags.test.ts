import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { flag, oneOf, special, text, whole } from '../../src/base/check.js';
import { flagsOf, helpOf, optionsOf } from '../../src/command/flags.js';

const TABLE = {
  fromDate: text('the start'),
  limit: whole('posts in all'),
  product: oneOf('how far back', ['30day', 'fullarchive']),
  columns: special<readonly string[]>('names', 'a list', value => Array.isArray(value)),
  isFast: flag('whether it is fast'),
};
const FLAGS = flagsOf(TABLE, ['fromDate', 'limit', 'product', 'columns', 'isFast']);

describe('flags', () => {
  it('are the options in kebab-case, and switches take no text', () => {
    expect(FLAGS.map(({ name }) => name)).toEqual([
      ...['from-date', 'limit', 'product', 'columns', 'is-fast'],
    ]);
    expect(FLAGS.filter(({ isSwitch }) => isSwitch).map(({ name }) => name)).toEqual(['is-fast']);
    const help = helpOf(FLAGS);
    expect(help).toContain('  --product ...          how far back: 30day or fullarchive\n');
    expect(help).toContain('  --is-fast              whether it is fast\n');
  });

  it('give the value that the option accepts, and text that it refuses unchanged', () => {
    const given = { limit: '12', columns: 'id, text', 'from-date': '2024', 'is-fast': true };
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

  it('never change a text that an option of text accepts', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), value => {
        const { fromDate } = optionsOf(FLAGS, { 'from-date': value });
        expect(fromDate).toBe(TABLE.fromDate.accepts(value) ? value : fromDate);
      }),
    );
  });
});
