import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { downloadCursors } from '../../src/jobs/job-files.js';
import { unchecked } from '../unchecked.js';

const files = ['201801060000', '201801060010'].map(name => ({ name, path: `${name}.json.gz` }));
const cursors = downloadCursors(
  unchecked({
    basis: { job: { uuid: 'uuid', title: 'rain' } },
    files,
    shard: undefined,
  }),
);
const state = { next: 1, files: 1, bytes: 7, posts: 2, suspectMinutes: [], missing: [] };

describe('the cursor of a job download', () => {
  it('is the same after it is saved and restored', () => {
    expect(cursors.stateAt(cursors.cursorAt(state))).toEqual(state);
  });

  it.each([
    ['a file before the first one', { next: -1, seen: undefined }],
    ['a file after the last one', { next: 3, seen: undefined }],
    ['a negative number of posts', { posts: -1 }],
    ['a missing file without a name', { missing: [7] }],
  ])('causes an OptionError if it contains %s', (_, damage) => {
    const { seen, ...cursor } = { ...cursors.cursorAt(state), ...damage } as { seen?: string };
    expect(() => cursors.stateAt(seen === undefined ? cursor : { seen, ...cursor })).toThrow(
      OptionError,
    );
  });
});
