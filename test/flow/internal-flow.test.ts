import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Activity } from '../../src/activity/activity.js';
import { localFiles } from '../../src/archive/local-files.js';
import { type Batch, type Batches, batchesOf, Flow, operator } from '../../src/flow/flow.js';
import {
  type InternalBatch,
  internalBatchesOf,
  internalOperator,
} from '../../src/flow/internal-flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { activities } from '../../src/operators/activities.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { filter } from '../../src/operators/filter.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import { tap } from '../../src/operators/tap.js';
import { files } from '../../src/sinks/files.js';
import { bySuite } from '../slow-suite.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'released-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const at = (name: string) => path.join(folder, name);

/** Posts of the given size, in several files. */
function postsOf(sizes: readonly number[]): Buffer[] {
  return sizes.map((size, index) =>
    Buffer.from(
      `{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":${index + 1},"id_str":"${index + 1}","text":"${'é'.repeat(size)}"}\n`,
    ),
  );
}

async function store(name: string, posts: readonly Buffer[]): Promise<string> {
  const bytes = Buffer.concat(posts);
  await writeFile(at(name), name.endsWith('.gz') ? gzipSync(bytes, { level: 1 }) : bytes);
  return at(name);
}

/** Calls a function with each batch, and passes on its `release`. */
function watch<T>(look: (batch: Batch<T>) => void) {
  return internalOperator<T, T>(async function* (input) {
    for await (const batch of input) {
      look(batch);
      yield batch;
    }
  });
}

const LARGE = postsOf(Array.from({ length: 3000 }, (_, index) => (index * 37) % 2000));

describe('the memory of a batch', () => {
  it('is released only after its lines are written, for any chunks', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.array(fc.oneof(fc.integer({ min: 0, max: 300 }), fc.constant(400_000)), {
            minLength: 1,
            maxLength: 20,
          }),
          { minLength: 1, maxLength: 4 },
        ),
        fc.constantFrom('.jsonl', '.jsonl.gz'),
        async (sizes, extension) => {
          const posts = postsOf(sizes.flat());
          const rest = [...posts];
          const paths = await Promise.all(
            sizes.map((own, index) => store(`in-${index}${extension}`, rest.splice(0, own.length))),
          );
          await pipeline(
            localFiles(paths),
            gunzip({ plain: 'pass' }),
            jsonLines(),
            activities(),
            dedupe(),
            routeByTag(),
            files({ path: at('out.jsonl') }),
          );
          expect((await readFile(at('out.jsonl'))).equals(Buffer.concat(posts))).toBe(true);
        },
      ),
      { numRuns: bySuite(5, 40) },
    );
  });

  it('is released when all its lines are written', async () => {
    const file: Uint8Array[] = [];
    const blocks: Buffer[] = [];
    await pipeline(
      localFiles(await store('freed.jsonl.gz', LARGE)),
      watch<Uint8Array>(({ items }) => file.push(...items)),
      gunzip(),
      watch<Buffer>(({ items }) => blocks.push(...items)),
      jsonLines(),
      activities(),
      dedupe(),
      routeByTag(),
      files({ path: at('freed-out.jsonl') }),
    );
    expect(blocks.length).toBeGreaterThan(10);
    expect([...file, ...blocks].map(({ buffer }) => buffer.byteLength)).toEqual(
      [...file, ...blocks].map(() => 0),
    );
  });

  it('is also released for plain text files', async () => {
    const seen: Buffer[] = [];
    await pipeline(
      localFiles(await store('text.jsonl', LARGE)),
      watch<Uint8Array>(({ items }) => seen.push(...items.map(item => item as Buffer))),
      jsonLines(),
      files({ path: at('text-out.jsonl') }),
    );
    expect(seen.map(({ length }) => length)).toEqual([0]);
    expect((await readFile(at('text-out.jsonl'))).equals(Buffer.concat(LARGE))).toBe(true);
  });

  it.each(['tap', 'filter', 'key', 'operator', 'path', 'line', 'for await', 'Flow'])(
    'is not released if a function could keep posts: %s',
    async where => {
      const input = await store('kept.jsonl.gz', LARGE);
      const kept: Activity[] = [];
      const keep = (activity: Activity) => kept.push(activity) > 0;
      const posts = () => activities()(jsonLines()(gunzip()(localFiles(input))));
      const target = at('kept-out.jsonl');
      const stages = {
        tap: () => pipeline(posts(), tap(keep), files({ path: target })),
        filter: () => pipeline(posts(), filter(keep), files({ path: target })),
        key: () =>
          pipeline(
            posts(),
            dedupe({ key: activity => (keep(activity) ? activity.id : '') }),
            files({ path: target }),
          ),
        operator: () =>
          pipeline(
            posts(),
            operator<Activity, Activity>(async function* (batches) {
              for await (const batch of batches) {
                batch.items.forEach(keep);
                yield batch;
              }
            }),
            files({ path: target }),
          ),
        path: () =>
          pipeline(posts(), files({ path: activity => (keep(activity) ? target : target) })),
        line: () =>
          pipeline(
            posts(),
            files({ path: target, line: activity => (keep(activity) ? activity.raw : '') }),
          ),
        'for await': async () => {
          for await (const activity of posts()) keep(activity);
        },
        Flow: () =>
          pipeline(
            new Flow<Activity>(async function* (run): Batches<Activity> {
              for await (const batch of batchesOf(posts(), run)) {
                batch.items.forEach(keep);
                yield batch;
              }
            }),
            files({ path: target }),
          ),
      };
      await stages[where as keyof typeof stages]();
      const lines = Buffer.concat(kept.map(({ raw }) => Buffer.from(`${raw}\n`)));
      expect(lines.equals(Buffer.concat(LARGE))).toBe(true);
    },
  );

  it('can only be released by a reader of this package', async () => {
    const input = await store('whole.jsonl.gz', LARGE);
    for await (const batch of gunzip()(localFiles(input)).batches())
      expect((batch as InternalBatch<Buffer>).release).toBeUndefined();
    let releases = 0;
    for await (const { items, release } of internalBatchesOf(gunzip()(localFiles(input)))) {
      expect(items[0]!.length).toBeGreaterThan(0);
      release?.();
      if (release !== undefined) releases++;
    }
    expect(releases).toBeGreaterThan(1);
  });
});
