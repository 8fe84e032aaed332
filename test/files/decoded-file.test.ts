import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { openTombstones } from '../../src/compliance/tombstones.js';
import { withoutDeleted } from '../../src/compliance/without-deleted.js';
import { DecodedFile } from '../../src/files/decoded-file.js';
import { Engine } from '../../src/files/engine.js';
import { FileRecords } from '../../src/files/file-records.js';
import { Plan } from '../../src/files/plan.js';
import type { DecodedRows } from '../../src/files/rows.js';
import type { EngineThread } from '../../src/files/worker-thread.js';
import { type Batches, batchesOf, Flow, operator } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { activities } from '../../src/operators/activities.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { filter } from '../../src/operators/filter.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import { tap } from '../../src/operators/tap.js';
import type { Activity } from '../../src/post/activity.js';
import { files } from '../../src/sinks/files.js';
import { localFiles } from '../../src/sources/local-files.js';
import { ofPost } from '../compliance/event.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import { askedOfThreads } from './asked-of-threads.js';

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder();
});

const at = (name: string) => path.join(folder, name);

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

const LARGE = postsOf(Array.from({ length: 3000 }, (_, index) => (index * 37) % 2000));

describe('the memory of a file that a worker thread decoded', () => {
  it('is released only after all its lines are written, for any chunk sizes', async () => {
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
      { numRuns: bySuite(2, 40) },
    );
  });

  it.each([0, 2])('is released exactly once for each file, with %i threads', async workers => {
    const asked = askedOfThreads();
    const paths = await Promise.all(
      ['1', '2', '3'].map(name => store(`freed-${name}.jsonl.gz`, LARGE)),
    );
    const seen: DecodedRows[] = [];
    const contents: Buffer[] = [];
    const engine = new Engine();
    engine.add({ workers });
    const plan = Plan.in(activities()(jsonLines()(gunzip()(localFiles(paths)))))!;
    for await (const { rows } of engine.run(plan, {})) {
      seen.push(rows!.file);
      contents.push(await rows!.file.content());
      rows!.file.release();
    }
    await engine.close();
    expect(seen.length).toBe(3);
    await expect.poll(() => contents.map(({ length }) => length)).toEqual([0, 0, 0]);
    expect(asked('take')).toBe(workers === 0 ? 0 : 3);
    expect(asked('free')).toBe(0);
  });

  it('is released by the sink files() once per file', async () => {
    const asked = askedOfThreads();
    const paths = await Promise.all(
      ['1', '2', '3'].map(name => store(`written-${name}.jsonl.gz`, LARGE)),
    );
    await pipeline(
      localFiles(paths),
      gunzip(),
      jsonLines(),
      activities(),
      files({ path: at('written-out.jsonl'), workers: 2 }),
    );
    expect(asked('free')).toBe(3);
  });

  it.each(['tap', 'filter', 'key', 'operator', 'path', 'line', 'for await', 'Flow'])(
    'is not released if a function of the caller could keep posts: %s',
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
});

describe('a post of a decoded file that is replaced by a longer one', () => {
  it('is stored after all posts that were replaced earlier', async () => {
    const kind = { name: 'text', mark: () => 0, item: (record: Buffer) => record };
    const bounds = { starts: Uint32Array.of(0, 2), lengths: Uint32Array.of(1, 1) };
    const contents = {
      rows: FileRecords.elsewhere(kind, bounds),
      columns: new Map(),
      messages: [],
    };
    const thread = unchecked<EngineThread>({ tell: () => {} });
    const file = new DecodedFile('x', contents, { thread, file: 1, bytes: 4, onFree: () => {} });
    await file.replace(new Map([[0, { raw: Buffer.from('longer') }]]));
    await file.replace(new Map([[1, { raw: Buffer.from('also longer') }]]));
    expect([...file.rows.starts]).toEqual([4, 11]);
    expect([...file.rows.lengths]).toEqual([6, 11]);
    expect(file.bytes).toBe(23);
  });

  it('is sent to the worker thread without the rest of its buffer', async () => {
    const kind = { name: 'text', mark: () => 0, item: (record: Buffer) => record };
    const bounds = { starts: Uint32Array.of(0), lengths: Uint32Array.of(1) };
    const rows = FileRecords.elsewhere(kind, bounds);
    const sent: Uint8Array[] = [];
    const thread = unchecked<EngineThread>({
      tell: (_: string, [, , records]: [number, Uint32Array, Uint8Array[]]) =>
        sent.push(...records),
    });
    const contents = { rows, columns: new Map(), messages: [] };
    const file = new DecodedFile('x', contents, { thread, file: 1, bytes: 2, onFree: () => {} });
    const block = Buffer.alloc(1 << 20, 'x');
    await file.replace(new Map([[0, { raw: block.subarray(100, 110) }]]));
    expect(sent.map(record => Buffer.from(record).toString())).toEqual(['x'.repeat(10)]);
    // If a view is sent to a thread, its whole buffer is copied. Therefore, each record must first
    // be copied into a buffer of its own size.
    expect(sent.map(({ buffer }) => buffer.byteLength)).toEqual([10]);
  });

  // A masked post has no language, so it is in `und.jsonl`.
  it.each([0, 2])('is written to the path of its new content, with %i threads', async workers => {
    const asked = askedOfThreads();
    const lines = ['1', '2'].map(
      id =>
        `{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":${id},"id_str":"${id}","text":"","lang":"en","user":{"id":3,"id_str":"3","screen_name":"a","name":"A"}}\n`,
    );
    const input = await store(`replaced-${workers}.jsonl.gz`, lines.map(Buffer.from));
    await using tombstones = await openTombstones(at(`tombstones-${workers}`));
    await tombstones.record([ofPost('delete', '2')]);
    const out = at(`replaced-out-${workers}`);
    await pipeline(
      localFiles(input),
      gunzip(),
      jsonLines(),
      activities(),
      withoutDeleted(tombstones, { mask: true }),
      files({ path: `${out}/{lang}.jsonl`, workers }),
    );
    expect(await readFile(`${out}/en.jsonl`, 'utf8')).toBe(lines[0]);
    expect(await readFile(`${out}/und.jsonl`, 'utf8')).toContain('"hidden":"deleted"');
    expect(asked('replace')).toBe(workers === 0 ? 0 : 1);
  });
});
