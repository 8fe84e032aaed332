import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkOptions,
  cursor,
  date,
  flag,
  func,
  milliseconds,
  type OptionTable,
  oneOf,
  required,
  signal,
  text,
  whole,
} from '../../src/base/check.js';
import { OptionError } from '../../src/base/errors.js';

interface Options {
  readonly query: string;
  readonly maxResults?: number | undefined;
  readonly product?: '30day' | 'fullarchive' | undefined;
  readonly fromDate?: string | Date | undefined;
  readonly dryRun?: boolean | undefined;
  readonly waitMs?: number | undefined;
  readonly onPost?: ((post: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly resume?: object | undefined;
}

const TABLE = {
  query: required(text('the rule')),
  maxResults: whole('posts of a page', { min: 10, max: 500, default: 100 }),
  product: oneOf('how far back', ['30day', 'fullarchive'], '30day'),
  fromDate: date('oldest minute'),
  dryRun: flag('only says what it would do', false),
  waitMs: milliseconds('how long to wait'),
  onPost: func('told of each post'),
  signal: signal(),
  resume: cursor(),
} satisfies OptionTable<Options>;

const check = (options: unknown) => checkOptions('search', TABLE, options as Options);

function errorOf(act: () => unknown): OptionError {
  try {
    act();
  } catch (error) {
    if (error instanceof OptionError) return error;
    throw error;
  }
  throw new Error('Nothing was refused');
}

describe('the options of a call', () => {
  it('get their default values if they are not set', () => {
    const { maxResults, product, dryRun, query, fromDate } = check({
      query: 'snow',
      maxResults: 10,
    });
    expect([query, maxResults, product, dryRun, fromDate]).toEqual([
      'snow',
      10,
      '30day',
      false,
      undefined,
    ]);
    // This compiles only if the type says that these options are present.
    const sum: number = maxResults + product.length + Number(dryRun);
    expect(sum).toBe(15);
  });

  it('cause an OptionError that suggests the nearest name if one is unknown', () => {
    const error = errorOf(() => check({ query: 'snow', maxResult: 100 }));
    expect(error.option).toBe('maxResult');
    expect(error.message).toBe('search: unknown option `maxResult`; did you mean `maxResults`?');
  });

  it('cause an OptionError that lists all names if an unknown name is similar to none', () => {
    expect(errorOf(() => check({ query: 'snow', zzzzzzzz: 1 })).message).toMatch(
      /^search: unknown option `zzzzzzzz`; known are `query`, `maxResults`, .*, `resume`$/,
    );
  });

  it('cause an OptionError that suggests the right name if only upper and lower case differ', () => {
    expect(errorOf(() => check({ query: 'snow', FROMDATE: '2024-01-01' })).message).toContain(
      'did you mean `fromDate`?',
    );
  });

  it('cause one OptionError that names every wrong option', () => {
    const error = errorOf(() => check({ maxResults: 5, product: '7day', qeury: 'snow' }));
    expect(error.option).toBe('qeury');
    expect(error.message.split('\n')).toEqual([
      'search: unknown option `qeury`; did you mean `query`?',
      'search: `query` is missing: the rule',
      'search: `maxResults` must be a whole number from 10 to 500, got 5',
      "search: `product` must be '30day' or 'fullarchive', got \"7day\"",
    ]);
  });

  it.each([
    { options: 'x' },
    { options: null },
    { options: ['query'] },
    { options: undefined },
    { options: 7 },
  ])('cause an OptionError if they are not an object: $options', ({ options }) => {
    expect(errorOf(() => check(options)).option).toBe('options');
  });

  it.each([
    ['maxResults', '100'],
    ['maxResults', 10.5],
    ['maxResults', Number.NaN],
    ['maxResults', null],
    ['query', ''],
    ['query', 'half \ud83d'],
    ['fromDate', '2024-02-30'],
    ['dryRun', 'no'],
    ['waitMs', 0],
    ['waitMs', 2 ** 31],
    ['onPost', {}],
    ['signal', {}],
    ['resume', 'cursor'],
    ['resume', null],
  ])('cause an OptionError if `%s` is %j', (option, value) => {
    expect(errorOf(() => check({ query: 'snow', [option]: value })).option).toBe(option);
  });

  it('cause an OptionError with advice on cursors if `resume` is not a cursor', () => {
    expect(errorOf(() => check({ query: 'snow', resume: 5 })).message).toMatch(
      /`resume` must be the cursor of a batch or of an error, got 5$/,
    );
  });

  it('cause an OptionError that does not show the members of a wrong object', () => {
    const { message } = errorOf(() => check({ query: { password: 'hunter2' } }));
    expect(message).not.toContain('hunter2');
  });

  it('are accepted or cause an OptionError, whatever their values', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (options, value) => {
        for (const given of [options, ...Object.keys(TABLE).map(name => ({ [name]: value }))])
          try {
            check(given);
          } catch (error) {
            expect(error).toBeInstanceOf(OptionError);
          }
      }),
    );
  });
});

it('an option table that misses an option or has an unknown one does not compile', () => {
  interface Two {
    readonly one?: string | undefined;
    readonly two: number;
  }
  const tables = [
    { one: text('one'), two: required(whole('two')) } satisfies OptionTable<Two>,
    // @ts-expect-error `two` is missing.
    { one: text('one') } satisfies OptionTable<Two>,
    // @ts-expect-error `two` is not optional.
    { one: text('one'), two: whole('two') } satisfies OptionTable<Two>,
    // @ts-expect-error `one` is a string.
    { one: whole('one'), two: required(whole('two')) } satisfies OptionTable<Two>,
    {
      one: text('one'),
      two: required(whole('two')),
      // @ts-expect-error There is no `three`.
      three: text('three'),
    } satisfies OptionTable<Two>,
  ];
  expect(tables).toHaveLength(5);
});
