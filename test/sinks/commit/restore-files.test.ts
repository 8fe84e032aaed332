import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { restore } from '../../../src/sinks/commit/restore-files.js';
import { nodeFileSystem } from '../../../src/storage/file-system.js';
import { temporaryFolder } from '../../temporary-folder.js';

it('a part that is one byte shorter than its checkpoint says is refused', async () => {
  const file = path.join(await temporaryFolder(), 'out.jsonl');
  const counts = { path: file, posts: 1, bytes: 9, lineBytes: 9 };
  const checkpoint = { state: 'running', cursor: undefined, files: [counts] } as const;
  const restored = () => restore(nodeFileSystem, 'run.json', checkpoint, () => undefined);
  await writeFile(`${file}.part`, '{"id":1}');
  await expect(restored()).rejects.toThrow('has only 8 bytes');
  await writeFile(`${file}.part`, '{"id":1}\n');
  expect(await restored()).toEqual(new Set());
});
