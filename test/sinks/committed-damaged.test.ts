import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { DataError, OptionError, StorageError } from '../../src/base/errors.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { map } from '../../src/operators/map.js';
import type { Activity } from '../../src/post/activity.js';
import { type CommittedOptions, committed, committedOn } from '../../src/sinks/committed.js';
import { localFiles } from '../../src/sources/local-files.js';
import { nodeError, SimulatedDisk, seeded } from '../storage/simulated-disk.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import {
  bytesOf,
  damagedIn,
  documents,
  FLOWS,
  idsIn,
  keptIn,
  post,
  postsOf,
  shapes,
} from './damaged.js';
import { ENDINGS, StandIn } from './stand-in.js';

// A run waits after a failed commit. It also waits if a crash has left an empty lock file. This
// mock ends these waits immediately.
vi.mock('node:timers/promises', () => ({ setTimeout: async () => {} }));

const LOG = '/kept/damaged.jsonl';
const RUNS = bySuite(3, 300);

type Calls = Pick<CommittedOptions<string>, 'load' | 'write' | 'save' | 'transaction'>;

function runOn(disk: SimulatedDisk, source: AsyncIterable<Activity>, calls: Calls, rows = 2) {
  return pipeline(
    source,
    map((item: Activity) => item.id),
    committedOn<string>(disk, { ...calls, rows, waitMs: 0, retries: 2, damaged: LOG }),
  );
}

describe.each(['transactions', 'ranges'] as const)(
  'the file of damaged records of committed() with %s',
  kind => {
    // Without transactions, a source must deliver the same rows again, in the same order. Merged
    // flows do not.
    const flows = Object.keys(FLOWS).filter(
      flow => kind === 'transactions' || !/merged/.test(flow),
    );

    it.each(flows)(
      'contains each record exactly once after crashes of a run with %s',
      async flow => {
        await fc.assert(
          fc.asyncProperty(
            shapes,
            fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 5 }),
            fc.array(fc.constantFrom(...ENDINGS), { maxLength: 12 }),
            fc.integer(),
            async (shape, cuts, endings, seed) => {
              const [one, other] = [bytesOf(shape.documents, 1), bytesOf(shape.others, 1_000)];
              const disk = new SimulatedDisk();
              const target = new StandIn<string>(endings);
              const random = seeded(seed);
              const run = () =>
                runOn(disk, (FLOWS[flow] as (typeof FLOWS)[string])(one, other), target[kind]);
              for (const cut of cuts) {
                disk.cutAt = cut;
                await run().catch(() => {});
                disk.restart(random);
                target.revive();
              }
              for (let tries = 0; ; tries++) {
                const result = await run().catch((error: unknown) => error);
                target.revive();
                if (result instanceof Error && tries < endings.length) continue;
                expect(result).toMatchObject({ damaged: damagedIn(flow, one, other).length });
                break;
              }
              const log = disk.files().includes(LOG) ? disk.read(LOG).toString() : '';
              expect(keptIn(log)).toEqual(damagedIn(flow, one, other));
              expect(target.rows.toSorted()).toEqual(idsIn(flow, one, other).toSorted());
              // If a process is killed while it removes the lock of another process, the file
              // `.lock.old` remains.
              const rest = disk.files().filter(name => name !== LOG && !name.endsWith('.lock.old'));
              expect(rest).toEqual([]);
            },
          ),
          { numRuns: RUNS },
        );
      },
    );
  },
);

describe('the option `damaged` of committed()', () => {
  let folder: string;
  const to = (name: string) => path.join(folder, name);
  const kept = async () => keptIn(await readFile(to('damaged.jsonl'), 'utf8'));
  const run = (source: AsyncIterable<Activity>, calls: Calls) =>
    pipeline(
      source,
      map((item: Activity) => item.id),
      committed<string>({ ...calls, damaged: to('damaged.jsonl') }),
    );

  beforeEach(async () => {
    folder = await temporaryFolder();
  });

  it('returns the number of kept records in its result, even of a complete run', async () => {
    const target = new StandIn<string>();
    await writeFile(to('a.jsonl'), `null\n${post(1)}\n{}\n`);
    const source = postsOf(to('a.jsonl'));
    expect(await run(source, target.transactions)).toEqual({ rows: 1, damaged: 2 });
    expect(await kept()).toEqual(['null', '{}']);
    const again = { rows: 1, damaged: 2, completeSince: expect.any(Date) };
    expect(await run(source, target.transactions)).toEqual(again);
    await rm(to('damaged.jsonl'));
    expect(await run(source, target.transactions)).toEqual(again);
  });

  it('writes the file of damaged records before it commits the rows', async () => {
    const target = new StandIn<string>();
    await writeFile(to('a.jsonl'), `null\n${post(1)}\n`);
    const { save, ...calls } = target.transactions;
    const texts: (readonly [damaged: unknown, bytes: number])[] = [];
    await run(postsOf(to('a.jsonl')), {
      ...calls,
      save: async (text, tx) => {
        const { files } = JSON.parse(text) as { readonly files?: readonly { bytes: number }[] };
        const part = await readFile(to('damaged.jsonl.part')).catch(() => Buffer.alloc(0));
        texts.push([files?.[0]?.bytes, part.length]);
        return save(text, tx);
      },
    });
    expect(texts[0]).toEqual([undefined, 0]);
    const [bytes, onDisk] = texts[1] ?? [];
    expect(bytes).toBe(onDisk);
    expect(bytes).toBeGreaterThan(10);
  });

  it('appends the records of the next incremental run to the file of the first run, unless that file was deleted', async () => {
    const target = new StandIn<string>();
    const inputs = await temporaryFolder();
    const add = (name: string, text: string) => writeFile(path.join(inputs, name), text);
    const next = () => run(postsOf(localFiles(inputs, { incremental: true })), target.transactions);
    await add('1.jsonl', `one\n${post(1)}\n`);
    expect(await next()).toEqual({ rows: 1, added: 1, damaged: 1 });
    await add('2.jsonl', 'two\n');
    expect(await next()).toEqual({ rows: 1, added: 0, damaged: 2 });
    expect(await kept()).toEqual(['one', 'two']);
    await rm(to('damaged.jsonl'));
    await add('3.jsonl', 'three\n');
    expect(await next()).toEqual({ rows: 1, added: 0, damaged: 1 });
    expect(await kept()).toEqual(['three']);
  });

  it('completes the damaged file in a resumed run even if that run lacks the option', async () => {
    const disk = new SimulatedDisk();
    const target = new StandIn<string>(['ok', 'ok', 'killed before']);
    const lines = bytesOf([[1, -1], [1], [1]], 1);
    const { transactions } = target;
    await expect(runOn(disk, postsOf(documents('one', lines)), transactions, 1)).rejects.toThrow(
      /killed/,
    );
    target.revive();
    const result = await pipeline(
      postsOf(documents('one', lines)),
      map((item: Activity) => item.id),
      committedOn<string>(disk, { ...transactions, waitMs: 0 }),
    );
    expect(result).toEqual({ rows: 3, damaged: 1 });
    expect(disk.files()).toEqual([LOG]);
  });

  it('ends the run with a typed error and no commit if the disk is full', async () => {
    const disk = new SimulatedDisk();
    const target = new StandIn<string>();
    const source = () => postsOf(documents('one', bytesOf([[1, -1], [1]], 1)));
    disk.before = (call, file) => {
      if (call === 'write' && file === `${LOG}.part`) throw nodeError('ENOSPC', call);
    };
    const failed = runOn(disk, source(), target.transactions);
    await expect(failed).rejects.toBeInstanceOf(StorageError);
    await expect(failed).rejects.toThrow(/damaged\.jsonl\.part.*continues after the last commit/);
    expect(target.rows).toEqual([]);
    disk.before = () => {};
    expect(await runOn(disk, source(), target.transactions)).toEqual({ rows: 2, damaged: 1 });
  });

  it('throws for an invalid file name', () => {
    const { transactions } = new StandIn<string>();
    expect(() => committed({ ...transactions, damaged: 'a.gz' })).toThrow(OptionError);
    expect(() => committed({ ...transactions, damaged: 'a.part' })).toThrow(OptionError);
  });

  it('rejects at a damaged record if the option is absent', async () => {
    await writeFile(to('a.jsonl'), 'null\n');
    const plain = committed<Activity>(new StandIn<Activity>().transactions);
    await expect(pipeline(postsOf(to('a.jsonl')), plain)).rejects.toThrow(DataError);
    expect(await readdir(folder)).toEqual(['a.jsonl']);
  });
});
