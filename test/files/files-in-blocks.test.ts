import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { openTombstones } from '../../src/compliance/tombstones.js';
import { withoutDeleted } from '../../src/compliance/without-deleted.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { activities } from '../../src/operators/activities.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { matchRules } from '../../src/operators/match-rules.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import { sample } from '../../src/operators/sample.js';
import { samplePosts } from '../../src/service/sample/sample-posts.js';
import { csv } from '../../src/sinks/csv.js';
import { files } from '../../src/sinks/files.js';
import { localFiles } from '../../src/sources/local-files.js';
import { temporaryFolder } from '../temporary-folder.js';
import { filesInBlocks } from './files-in-blocks.js';

const RULES = [{ value: 'rain OR snow OR love', tag: 'common' }];

async function storedFile(content: string): Promise<string> {
  const file = path.join(await temporaryFolder(), 'in.jsonl.gz');
  await writeFile(file, gzipSync(content));
  return file;
}

describe.each(['original', 'activity_streams'] as const)(
  'a file of posts in the format %s',
  format => {
    const minute = Date.UTC(2022, 9, 3, 6);
    const posts = samplePosts(minute, { postsPerMinute: 60, format });
    const content = posts.map(({ raw }) => `${raw}\n`).join('');

    it.each([0, 1])(
      'is decoded as a whole, whatever operators follow, with %d threads',
      async workers => {
        const blocks = filesInBlocks();
        const file = await storedFile(content);
        const out = await temporaryFolder();
        const tombstones = await openTombstones(path.join(out, 'tombstones'));
        await pipeline(
          localFiles(file),
          gunzip(),
          jsonLines(),
          activities(),
          matchRules(RULES),
          sample({ ratio: 0.9 }),
          dedupe(),
          withoutDeleted(tombstones),
          files({ path: path.join(out, '{author}/{day}.jsonl'), workers }),
        );
        await pipeline(
          localFiles(file),
          gunzip(),
          jsonLines(),
          activities(),
          routeByTag(),
          csv({ path: path.join(out, '{tag}.csv'), columns: ['id', 'text'], workers }),
        );
        await tombstones.close();
        expect(blocks()).toBe(0);
      },
    );
  },
);

it('a file with a damaged record is processed in blocks', async () => {
  const blocks = filesInBlocks();
  const file = await storedFile('{"id_str":"1"}\n{"id_str":\n');
  const out = path.join(await temporaryFolder(), 'out.jsonl');
  const run = pipeline(localFiles(file), gunzip(), jsonLines(), activities(), files({ path: out }));
  await expect(run).rejects.toThrow(/line 2/);
  expect(blocks()).toBe(1);
});
