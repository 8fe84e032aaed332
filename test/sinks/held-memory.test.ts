import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { activities } from '../../src/operators/activities.js';
import { chunk } from '../../src/operators/chunk.js';
import { filter } from '../../src/operators/filter.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { mapAsync } from '../../src/operators/map-async.js';
import type { Activity } from '../../src/post/activity.js';
import { collect } from '../../src/sinks/collect.js';
import { committed } from '../../src/sinks/committed.js';
import { files } from '../../src/sinks/files.js';
import { tee } from '../../src/sinks/tee.js';
import { localFiles } from '../../src/sources/local-files.js';
import { MemoryWatch } from '../memory-watch.js';
import { temporaryFolder } from '../temporary-folder.js';

const FILES = 16;
const HELD = 2_000;
const POSTS = 4_000;
const MEGABYTE = 2 ** 20;
/**
 * The memory limit. The posts that are held need 2.5 MB, and reading needs up to three files of 5
 * MB. All files together have 80 MB.
 */
const MOST = 32 * MEGABYTE;

let archive: string;

beforeAll(async () => {
  archive = await temporaryFolder();
  const every = (POSTS * FILES) / HELD;
  for (let file = 0; file < FILES; file++) {
    const lines = Array.from({ length: POSTS }, (_, at) => {
      const id = `${1_000_000_000_000_000_000n + BigInt(file * POSTS + at)}`;
      const kept = at % every === 0;
      return `{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id_str":"${id}","kept":${kept},"text":"${'snow '.repeat(190)}"}\n`;
    });
    writeFileSync(path.join(archive, `${file}.jsonl.gz`), gzipSync(lines.join(''), { level: 1 }));
  }
});

const rare = (): Flow<Activity> =>
  filter<Activity>(({ raw }) => raw.includes('"kept":true'))(
    activities()(jsonLines()(gunzip()(localFiles(archive)))),
  );

describe('the memory that a stage needs to hold selected posts', () => {
  it('is about the size of the posts in collect()', async () => {
    const memory = await MemoryWatch.start();
    const posts = await pipeline(rare(), collect());
    expect(posts.length).toBe(HELD);
    expect(await memory.look()).toBeLessThan(MOST);
    expect(posts.at(-1)?.text).toContain('snow');
  });

  it('is about the size of the posts in chunk()', async () => {
    const memory = await MemoryWatch.start();
    let chunks = 0;
    await pipeline(rare(), chunk(HELD), async input => {
      for await (const posts of input) {
        expect(posts.length).toBe(HELD);
        chunks++;
        expect(await memory.look()).toBeLessThan(MOST);
      }
    });
    expect(chunks).toBe(1);
  });

  it('is about the size of the posts in mapAsync() with many concurrent calls', async () => {
    const memory = await MemoryWatch.start();
    let release = () => {};
    const all = new Promise<void>(resolve => {
      release = resolve;
    });
    let waiting = 0;
    await pipeline(
      rare(),
      mapAsync(
        async post => {
          if (++waiting === HELD) {
            await memory.look();
            release();
          }
          await all;
          return post.id;
        },
        // `mapAsync()` also reads this many batches ahead. Each of them has up to 64 posts before
        // the filter.
        { concurrency: 2 * HELD },
      ),
      collect(),
    );
    expect(waiting).toBe(HELD);
    expect(memory.grown).toBeLessThan(MOST);
  });

  const target = (onWrite: () => Promise<void>) => {
    let saved: string | undefined;
    return committed<Activity>({
      transaction: work => work(),
      load: () => saved,
      write: onWrite,
      save: text => {
        saved = text;
      },
      rows: 2 * HELD,
      waitMs: 600_000,
    });
  };

  it('is about the size of the posts in committed()', async () => {
    const memory = await MemoryWatch.start();
    const { rows } = await pipeline(
      rare(),
      target(async () => {
        await memory.look();
      }),
    );
    expect(rows).toBe(HELD);
    expect(memory.grown).toBeLessThan(MOST);
  });

  it('is about the size of the posts in a branch of tee() that ends in committed()', async () => {
    const memory = await MemoryWatch.start();
    const output = await temporaryFolder();
    await pipeline(
      rare(),
      tee(
        target(async () => {
          await memory.look();
        }),
        files({ path: path.join(output, 'x.jsonl') }),
      ),
    );
    expect(memory.grown).toBeGreaterThan(0);
    expect(memory.grown).toBeLessThan(MOST);
  });
});
