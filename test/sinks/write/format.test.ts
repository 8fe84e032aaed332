import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { checkOptions } from '../../../src/base/check.js';
import { StorageError } from '../../../src/base/errors.js';
import { Flow, type Sink } from '../../../src/flow/flow.js';
import { pipeline } from '../../../src/flow/pipeline.js';
import {
  FILE_SINK_OPTIONS,
  type FileSinkOptions,
  fileSinkConfig,
  fileSinkOn,
} from '../../../src/sinks/commit/file-sink.js';
import type { Written } from '../../../src/sinks/commit/run-result.js';
import { filesOn } from '../../../src/sinks/files.js';
import {
  type Encoder,
  type FileEntry,
  type FileFormat,
  linesFormat,
} from '../../../src/sinks/write/format.js';
import { PowerCut, SimulatedDisk } from '../../storage/simulated-disk.js';
import { bySuite } from '../../suite.js';
import { places } from '../cursors.js';

// A run waits if a crash has left an empty lock file. These tests simulate hundreds of crashes, so
// this mock ends each wait immediately.
vi.mock('node:timers/promises', () => ({ setTimeout: async () => {} }));

const CHECKPOINT = '/run.json';
const BATCHES = Array.from({ length: 12 }, (_, batch) =>
  Array.from({ length: batch % 4 }, (_, n) => `${'abc'.charAt((batch + n) % 3)}${batch * 10 + n}`),
);

type Options = Partial<FileSinkOptions<string>>;

function sinkOn(
  disk: SimulatedDisk,
  format: FileFormat<string>,
  options: Options = {},
  name = 'rows',
): Sink<string, Written> {
  const { commitIntervalMs, ...given } = options;
  const checked = checkOptions<FileSinkOptions<string>, typeof FILE_SINK_OPTIONS>(
    name,
    FILE_SINK_OPTIONS,
    { path: item => `/out/${item.charAt(0)}`, checkpoint: CHECKPOINT, ...given },
  );
  const config = fileSinkConfig<string>(
    name,
    { ...checked, commitIntervalMs: 'commitIntervalMs' in options ? commitIntervalMs : 0 },
    { format: () => format, settings: {}, takesFunctions: true },
  );
  return fileSinkOn(disk, config);
}

const ROWS: FileFormat<string> = linesFormat({
  encode: item => Buffer.from(item),
  header: Buffer.from('name'),
});

interface ItemToGroup extends FileEntry {
  readonly item: string;
}

/**
 * An encoder that writes groups of up to two items, followed by the number of groups: `<1,2><3>2`.
 */
class Groups implements Encoder<ItemToGroup> {
  #items: string[] = [];
  #groups = 0;

  add({ item }: ItemToGroup): void {
    this.#items.push(item);
  }
  get heldBytes(): number {
    return this.#items.length * 10;
  }
  get full(): boolean {
    return this.#items.length === 2;
  }
  flush(): Uint8Array[] {
    if (this.#items.length === 0) return [];
    this.#groups++;
    return [Buffer.from(`<${this.#items.splice(0).join()}>`)];
  }
  end(): Uint8Array[] {
    return [...this.flush(), Buffer.from(`${this.#groups}`)];
  }
}

const WHOLE_FILES = { maxHeldBytes: 50, committedBytes: 1 << 20, committedItems: 1_000 };

const GROUPS: FileFormat<string, ItemToGroup> = {
  encode: item => ({ item, byteLength: 0 }),
  encoder: () => new Groups(),
  wholeFiles: WHOLE_FILES,
};

function contentOf(disk: SimulatedDisk): Record<string, string> {
  const names = disk.files().filter(name => name.startsWith('/out/'));
  return Object.fromEntries(
    names.map(name => {
      const bytes = disk.read(name);
      return [name, (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()];
    }),
  );
}

function run(sink: Sink<string, Written>, cursorEvery = 1): Promise<Written> {
  return pipeline(places(BATCHES, { cursorEvery }), sink);
}

async function runWithCuts(
  disk: SimulatedDisk,
  cuts: readonly number[],
  start: () => Promise<unknown>,
): Promise<void> {
  for (const cut of cuts) {
    disk.cutAt = cut;
    await start().catch(error => {
      if (!(error instanceof PowerCut)) throw error;
    });
    disk.restart(() => 0.5);
  }
  await start();
}

const anyCuts = fc.array(fc.integer({ min: 1, max: 120 }), { maxLength: 6 });

describe('a file format with a header', () => {
  const numbered = async () => {
    const disk = new SimulatedDisk();
    const written = await run(sinkOn(disk, ROWS, { maxBytes: 12 }));
    return { written, content: contentOf(disk) };
  };

  it('starts each numbered file with the header', async () => {
    const { content } = await numbered();
    expect(content['/out/a.0001']).toBe('name\na21\n');
    expect(content['/out/a.0002']).toBe('name\na30\n');
    for (const text of Object.values(content)) expect(text).toMatch(/^name\n([abc]\d+\n)+$/);
  });

  it('counts the bytes of the header', async () => {
    const { content, written } = await numbered();
    for (const text of Object.values(content)) expect(text.length).toBeLessThanOrEqual(12);
    expect(written.files[0]).toMatchObject({ posts: 1, bytes: 9 });
  });

  it('does not count the header as an item', async () => {
    expect((await numbered()).written.posts).toBe(BATCHES.flat().length);
  });

  it('writes the header once, into the first gzip member, even after a crash', async () => {
    const whole = new SimulatedDisk();
    await run(sinkOn(whole, ROWS));
    await fc.assert(
      fc.asyncProperty(anyCuts, fc.boolean(), async (cuts, gzip) => {
        const disk = new SimulatedDisk();
        await runWithCuts(disk, cuts, () => run(sinkOn(disk, ROWS, { gzip })));
        const names = Object.entries(contentOf(disk));
        const plain = Object.fromEntries(
          names.map(([name, text]) => [name.replace('.gz', ''), text]),
        );
        expect(plain).toEqual(contentOf(whole));
      }),
      { numRuns: bySuite(4, 150) },
    );
  });
});

describe('a file format with a footer', () => {
  it('writes each file with exactly one footer', async () => {
    const disk = new SimulatedDisk();
    const { posts } = await run(sinkOn(disk, GROUPS, { checkpoint: undefined }));
    expect(posts).toBe(BATCHES.flat().length);
    for (const text of Object.values(contentOf(disk))) expect(text).toMatch(/^(<[^>]+>)+\d$/);
  });

  it('flushes the largest encoders if all encoders together hold too many bytes', async () => {
    const disk = new SimulatedDisk();
    const held = { ...GROUPS, wholeFiles: { ...WHOLE_FILES, maxHeldBytes: 10 } };
    await run(sinkOn(disk, held, { checkpoint: undefined }));
    // Without the limit, the result would be <a21,a30><a60,a72><a90,a111>3.
    expect(contentOf(disk)['/out/a']).toBe('<a21,a30><a60><a72,a90><a111>4');
  });

  it.each([
    ['at each cursor', { commitIntervalMs: 0 }],
    ['when a file is full', { commitIntervalMs: undefined, maxBytes: 9 }],
    ['only at the end', { commitIntervalMs: undefined }],
  ] satisfies [string, Options][])(
    'writes every item once into complete files after a crash at any moment: commits %s',
    async (_, options) => {
      await fc.assert(
        fc.asyncProperty(anyCuts, fc.constantFrom(1, 3), async (cuts, cursorEvery) => {
          const disk = new SimulatedDisk();
          let named: Record<string, string> = {};
          await runWithCuts(disk, cuts, async () => {
            try {
              await run(sinkOn(disk, GROUPS, options), cursorEvery);
            } finally {
              const content = contentOf(disk);
              const whole = Object.entries(content).filter(([name]) => !/\.part/.test(name));
              for (const [name, text] of whole) expect(text, name).toMatch(/^(<[^>]+>)+\d$/);
              named = Object.fromEntries(whole);
            }
          });
          const items = Object.values(named).flatMap(text => text.match(/[abc]\d+/g) ?? []);
          expect(items.toSorted()).toEqual(BATCHES.flat().toSorted());
        }),
        { numRuns: bySuite(4, 150) },
      );
    },
  );

  it('renames its finished files at each commit', async () => {
    const disk = new SimulatedDisk();
    const named: number[] = [];
    const source = places(BATCHES);
    const watched = new Flow<string>(async function* (at) {
      for await (const batch of source.batches(at)) {
        named.push(Object.keys(contentOf(disk)).filter(name => !name.endsWith('.part')).length);
        yield batch;
      }
    });
    await pipeline(watched, sinkOn(disk, GROUPS));
    expect(named.slice(0, 6)).toEqual([0, 0, 1, 3, 6, 6]);
  });
});

it('a sink rejects the checkpoint of another kind of sink', async () => {
  const disk = new SimulatedDisk();
  await run(sinkOn(disk, ROWS));
  const other = run(sinkOn(disk, ROWS, {}, 'lines'));
  await expect(other).rejects.toThrow(StorageError);
  await expect(other).rejects.toThrow(/another sink: rows\(\) is now lines\(\)/);
  const path = (item: string) => `/out/${item.charAt(0)}`;
  const files = filesOn<string>(disk, { path, checkpoint: CHECKPOINT });
  await expect(run(files)).rejects.toThrow(/another sink: rows\(\) is now files\(\)/);
});
