import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StorageError } from '../../../src/base/errors.js';
import {
  checkOf,
  parseSaved,
  printSaved,
  type Saved,
} from '../../../src/sinks/commit/checkpoint-text.js';

const place = { path: 'posts', subject: 'The checkpoint of posts' };
const owner = { sink: { step: 'committed' }, flow: [{ step: 'search', query: 'rain' }] };

const cursor = fc.oneof(fc.constant(null), fc.object()).map(value => JSON.stringify(value));
const saved: fc.Arbitrary<Saved> = fc.record(
  {
    state: fc.constantFrom('running' as const, 'finishing' as const, 'complete' as const),
    id: fc.string(),
    commits: fc.nat(),
    rows: fc.nat(),
    cursor,
    pending: fc.record({ rows: fc.nat(), isLast: fc.boolean(), cursor }),
    completed: fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }),
    files: fc.array(
      fc.record({
        path: fc.string({ minLength: 1 }),
        posts: fc.nat(),
        bytes: fc.nat(),
        lineBytes: fc.nat(),
      }),
    ),
  },
  { requiredKeys: ['state', 'id', 'commits', 'rows', 'cursor', 'files'] },
);

describe('the checkpoint text that committed() saves', () => {
  it('is the same after it is printed and parsed', () => {
    fc.assert(
      fc.property(saved, one => {
        const text = printSaved(one, owner);
        const read = parseSaved(text, place, owner);
        expect({ completed: undefined, ...one }).toEqual({ completed: undefined, ...read });
        expect(printSaved(read, owner)).toBe(text);
      }),
    );
  });

  it.each([
    ['state', '"begun"'],
    ['id', '1'],
    ['commits', '-1'],
    ['rows', '1.5'],
    ['cursor', undefined],
    ['pending', '{"isLast":true,"cursor":null}'],
    ['pending', '{"rows":1,"cursor":null}'],
    ['pending', '{"rows":1,"isLast":true}'],
    ['pending', '1'],
    ['files', '{}'],
    ['files', '[{}]'],
  ])('causes an error if its member %s is %s, even with the right checksum', (member, value) => {
    const whole: Saved = {
      state: 'running',
      id: 'a',
      commits: 1,
      rows: 1,
      cursor: 'null',
      files: [],
    };
    const text = printSaved(whole, owner);
    expect(parseSaved(text, place, owner)).toMatchObject({ id: 'a' });
    const lines = text.split('\n').slice(0, -3);
    const others = lines.filter(line => !line.startsWith(`  "${member}": `));
    const added = value === undefined ? [] : [`  "${member}": ${value},`];
    const body = `${[...others, ...added].join('\n')}\n`;
    const wrong = body + checkOf(crc32(body));
    expect(() => parseSaved(wrong, place, owner)).toThrow(StorageError);
    expect(() => parseSaved(wrong, place, owner)).toThrow(/is damaged or was edited/);
  });
});
