import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { unwrapCursor, wrapCursor } from '../../src/flow/operator-state.js';
import type { Json } from '../../src/json/type-guards.js';
import { unchecked } from '../unchecked.js';

const json = fc.jsonValue().map(value => JSON.parse(JSON.stringify(value)) as Json);
const inner = fc.dictionary(fc.string(), json).map(value => JSON.parse(JSON.stringify(value)));

describe('the state of an operator in a cursor', () => {
  it('is restored from a checkpoint, together with the cursor of the input', () => {
    fc.assert(
      fc.property(json, inner, (state, cursor) => {
        const wrapped = wrapCursor('dedupe', state, cursor);
        for (const saved of [wrapped, JSON.parse(JSON.stringify(wrapped))])
          expect(unwrapCursor('dedupe', saved)).toEqual({ state, inner: cursor });
      }),
    );
  });

  it('is stored as the result of its toJSON(), if it has one', () => {
    const wrapped = wrapCursor('dedupe', { toJSON: () => ['1'] }, { page: 2 });
    expect(unwrapCursor('dedupe', wrapped)).toEqual({ state: ['1'], inner: { page: 2 } });
    expect(JSON.stringify(wrapped)).toBe('{"dedupe":["1"],"inner":{"page":2}}');
  });

  it('is undefined at the start of a run', () => {
    expect(unwrapCursor('dedupe', undefined)).toEqual({ state: undefined, inner: undefined });
  });

  it.each([{}, { page: 2 }, { take: 3, inner: {} }, { dedupe: 1 }, { dedupe: 1, inner: null }])(
    'causes an OptionError if the cursor %j comes from a pipeline without that operator',
    cursor => {
      expect(() => unwrapCursor('dedupe', unchecked(cursor))).toThrow(OptionError);
      expect(() => unwrapCursor('dedupe', unchecked(cursor))).toThrow('without dedupe() here');
    },
  );
});
