import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StorageError } from '../../../src/base/errors.js';
import {
  checkedText,
  checkOf,
  completedOf,
  headOf,
} from '../../../src/sinks/commit/checkpoint-text.js';

const PLACE = { path: 'out/run.json', subject: 'The checkpoint out/run.json' };
const OWNER = {
  sink: { step: 'files', path: 'out/{tag}.jsonl' },
  flow: [{ step: 'search', query: 'snow "deep" 🍕' }, { step: 'dedupe' }],
};

function printed(members = '', completed?: Date): string {
  const body = headOf('running', OWNER, completed) + members;
  return body + checkOf(crc32(body));
}

const read = (text: string, owner = OWNER, isValid = (_: object) => true) =>
  checkedText(text, PLACE, owner, isValid);

describe('the text of a checkpoint file', () => {
  it('is the same after it is printed and parsed, even with additional members', () => {
    expect(read(printed('  "posts": 7,\n'))).toMatchObject({
      version: 1,
      state: 'running',
      ...OWNER,
      posts: 7,
    });
  });

  it('contains the time of completion if the run is complete', () => {
    const at = new Date(Date.UTC(2024, 2, 5, 14));
    expect(completedOf(read(printed('', at)))).toEqual(at);
    expect(completedOf(read(printed()))).toBeUndefined();
    expect(completedOf({ completed: 'yesterday' })).toBeUndefined();
  });

  it('causes an error if any byte is changed or missing', () => {
    const text = printed('  "posts": 7,\n');
    fc.assert(
      fc.property(
        fc.nat(text.length - 1),
        fc.constantFrom('', '0', '1', ' ', '"', 'x'),
        (at, by) => {
          const changed = text.slice(0, at) + by + text.slice(at + 1);
          if (changed !== text) expect(() => read(changed)).toThrow(StorageError);
          expect(() => read(text.slice(0, at))).toThrow(StorageError);
        },
      ),
    );
  });

  it('causes an error if a member that describes the sink has another type', () => {
    expect(() => read(printed(), OWNER, () => false)).toThrow('is damaged or was edited');
  });

  it('of another version causes an error that names the version', () => {
    expect(() => read(printed().replace('"version": 1', '"version": 2'))).toThrow(
      'is of version 2, not 1',
    );
  });

  it('of another sink causes an error that names the difference', () => {
    expect(() => read(printed(), { ...OWNER, sink: { ...OWNER.sink, path: 'x' } })).toThrow(
      'belongs to another sink: `path` of files() was "out/{tag}.jsonl" and is now "x"',
    );
  });

  it('of another flow causes an error that names the difference', () => {
    const flow = [{ step: 'search', query: 'rain' }, { step: 'dedupe' }];
    expect(() => read(printed(), { ...OWNER, flow })).toThrow('belongs to another flow: `query`');
  });
});
