import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FileDecoder } from '../../src/files/file-decoder.js';
import { POSTS } from '../../src/operators/activities.js';
import { IDS } from '../../src/operators/dedupe.js';
import { temporaryFolder } from '../temporary-folder.js';

const SETUP = {
  decoding: { limits: { maxBytes: 1e6, maxDepth: 100 }, records: POSTS },
  columns: [IDS],
  encodings: [],
};

const MIB = 2 ** 20;

/** What decodes the files of these readers, once so much input is expected. */
function decoderFor(
  readers: ConstructorParameters<typeof FileDecoder>[1],
  expected = { count: 20, bytes: 1 },
): FileDecoder {
  const decoder = new FileDecoder(SETUP, readers);
  onTestFinished(() => decoder.threads?.close());
  decoder.expect(expected);
  return decoder;
}

describe('the decoder of the files of a run', () => {
  it('starts threads for any input where a number is given', () => {
    expect(decoderFor([{ workers: 1 }]).inThreads).toBe(true);
    expect(decoderFor([{}]).inThreads).toBe(false);
  });

  it('starts threads for 32 MiB of input, also where they are expected in parts', () => {
    const decoder = decoderFor([{}], { count: 1, bytes: 31 * MIB });
    expect(decoder.inThreads).toBe(false);
    decoder.expect({ count: 1, bytes: MIB });
    expect(decoder.inThreads).toBe(true);
  });

  it('decodes the same without threads', async () => {
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
