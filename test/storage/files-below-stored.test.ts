import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { pipeline } from '../../src/flow/pipeline.js';
import { files } from '../../src/sinks/files.js';
import { isCheckpointFile, STORED_FILES, STORED_POSTS } from '../../src/storage/files-below.js';
import { places } from '../sinks/cursors.js';
import { temporaryFolder } from '../temporary-folder.js';

describe('a checkpoint among stored files', () => {
  it('is recognised by its content if its name ends in .json', async () => {
    const folder = await temporaryFolder();
    const checkpoint = `${folder}/any name.JSON`;
    await pipeline(places([[1]]), files({ path: `${folder}/out.jsonl`, checkpoint }));
    expect(await isCheckpointFile(checkpoint)).toBe(true);
    expect(await isCheckpointFile(`${folder}/out.jsonl`)).toBe(false);
  });

  it.each(['', '{}', '{"version": 1, "state": "complete"}', '{"id":1}\n{"id":2}\n'])(
    'is not recognised in the content %j',
    async text => {
      const file = `${await temporaryFolder()}/posts.json`;
      await writeFile(file, text);
      expect(await isCheckpointFile(file)).toBe(false);
    },
  );
});

it.each([
  ['a.jsonl', true, true],
  ['a.json', true, true],
  ['a.NDJSON', true, true],
  ['a.jsonl.gz', true, true],
  ['a.json.zst', true, true],
  ['a.csv.gz', false, true],
  ['a.gz', false, true],
  ['a.csv', false, false],
  ['a.jsonl.part', false, false],
  ['jsonl', false, false],
])(
  'the file name %s is accepted for a file of posts: %j, for any stored file: %j',
  (name, ofPosts, isStored) => {
    expect(STORED_POSTS.test(name)).toBe(ofPosts);
    expect(STORED_FILES.test(name)).toBe(isStored);
  },
);
