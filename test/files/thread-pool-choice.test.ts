import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { chooseThreads, FileDecoder } from '../../src/files/thread-pool.js';
import { POSTS } from '../../src/operators/activities.js';
import { IDS } from '../../src/operators/dedupe.js';
import { temporaryFolder } from '../temporary-folder.js';

const MIB = 2 ** 20;

it('chooseThreads returns one thread per core by default if the input is at least 32 MiB', () => {
  const size = Math.min(availableParallelism(), 16);
  expect(chooseThreads([{}, {}])).toEqual({ size, minBytes: 32 * MIB });
});

it('chooseThreads returns the lowest number of threads that any reader requests', () => {
  expect(chooseThreads([{ workers: 3 }, {}, { workers: 1 }])).toEqual({ size: 1, minBytes: 0 });
  expect(chooseThreads([{ workers: 3 }, { workers: 0 }])).toEqual({ size: 0, minBytes: 0 });
});

it('chooseThreads returns 0 if every reader wants posts on the main thread', () => {
  expect(chooseThreads([{ workers: 2, isHere: true }, { isHere: true }]).size).toBe(0);
  expect(chooseThreads([{ workers: 2, isHere: true }, {}]).size).toBe(2);
});

const SETUP = {
  decoding: { limits: { maxBytes: 1e6, maxDepth: 100 }, records: POSTS },
  columns: [IDS],
  encodings: [],
};

function decoderFor(
  readers: ConstructorParameters<typeof FileDecoder>[1],
  expected = { count: 20, bytes: 1 },
  setup: ConstructorParameters<typeof FileDecoder>[0] = SETUP,
): FileDecoder {
  const decoder = new FileDecoder(setup, readers);
  onTestFinished(() => decoder.threads?.close());
  decoder.expect(expected);
  return decoder;
}

describe('FileDecoder', () => {
  it('starts the given number of threads even for small input', () => {
    expect(decoderFor([{ workers: 1 }]).inThreads).toBe(true);
    expect(decoderFor([{}]).inThreads).toBe(false);
  });

  it('starts threads for 32 MiB of input, even if the size is announced in parts', () => {
    const decoder = decoderFor([{}], { count: 1, bytes: 31 * MIB });
    expect(decoder.inThreads).toBe(false);
    decoder.expect({ count: 1, bytes: MIB });
    expect(decoder.inThreads).toBe(true);
  });

  it.each([
    ['on the main thread', 0],
    ['in a thread', 1],
  ])(
    'rejects a file that inflates to one byte more than `maxBytes` of gunzip: %s',
    async (_, workers) => {
      const text = '{"id":1,"id_str":"1"}\n';
      for (const bytes of [gzipSync(text), Buffer.from(text)])
        for (const [maxBytes, count] of [
          [text.length, 1],
          [text.length - 1, undefined],
        ] as const) {
          const decoding = { ...SETUP.decoding, gunzip: { plain: 'pass' as const, maxBytes } };
          const decoder = decoderFor([{ workers }], undefined, { ...SETUP, decoding });
          const decoded = await decoder.decode({
            file: { bytes: Buffer.from(bytes) },
            origin: 'a',
          });
          expect(decoded?.rows.count).toBe(count);
          decoded?.release();
        }
    },
  );

  it('decodes the same posts with and without threads', async () => {
    const file = path.join(await temporaryFolder(), 'a.jsonl');
    await writeFile(file, '{"id":1,"id_str":"1"}\n{"id":2,"id_str":"2"}\n');
    for (const workers of [0, 1]) {
      const decoded = await decoderFor([{ workers }]).decode({
        file: { path: file, size: 44, read: () => readFile(file) },
        origin: file,
      });
      expect(decoded?.rows.count).toBe(2);
      expect(decoded?.columns.get(IDS)).toMatchObject({ halves: Uint32Array.of(0, 1, 0, 2) });
      expect((await decoded?.content())?.toString()).toContain('"id_str":"2"');
      decoded?.release();
    }
  });
});
