import fc from 'fast-check';
import { Flow } from '../../src/flow/flow.js';

export function cutAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ends = [...places].sort((a, b) => a - b).concat(bytes.length);
  let start = 0;
  return ends.map(end => {
    const block = bytes.subarray(start, end);
    start = end;
    return block;
  });
}

export function cuts(length: number): fc.Arbitrary<number[]> {
  return fc.array(fc.nat(length), { maxLength: 12 });
}

/** Creates a flow of bytes without file boundaries. Each block is one batch. */
export function blocks(parts: readonly Uint8Array[], origin = 'memory'): Flow<Uint8Array> {
  return new Flow(async function* () {
    for (const part of parts) yield { items: [part], origin };
  });
}

/**
 * Creates a flow of files. Each file is a list of blocks, each block is one batch, and each file
 * ends with a cursor.
 */
export function filesOf(...files: readonly (readonly Uint8Array[])[]): Flow<Uint8Array> {
  return new Flow(async function* ({ resume }) {
    const first = resume === undefined ? 0 : Number(resume.file);
    for (let file = first; file < files.length; file++) {
      const parts = files[file]!;
      for (const part of parts.slice(0, -1)) yield { items: [part], origin: `file ${file}` };
      yield {
        items: parts.slice(-1),
        cursor: { file: file + 1 },
        origin: `file ${file}`,
      };
    }
  });
}

export async function all<T>(flow: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of flow) items.push(item);
  return items;
}

export async function texts(flow: AsyncIterable<Uint8Array>): Promise<string[]> {
  return (await all(flow)).map(bytes => Buffer.from(bytes).toString());
}

export async function until<T>(flow: AsyncIterable<T>): Promise<{ items: T[]; error: unknown }> {
  const items: T[] = [];
  try {
    for await (const item of flow) items.push(item);
  } catch (error) {
    return { items, error };
  }
  throw new Error('The run ended without an error');
}
