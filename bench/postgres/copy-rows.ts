import { open, readFile } from 'node:fs/promises';
import { committed, Flow, pipeline } from 'millrace';
import type { Work } from '../question.js';
import { intoPostgres } from './into-postgres.js';

const BLOCK = 1 << 20;

/** Copies the rows of the CSV file that psql reads in another variant. */
export async function run({ out }: Work): Promise<void> {
  const ends = await readFile(`${out}/posts.ends`);
  const rows = rowsOf(`${out}/posts.csv`, new Uint32Array(new Uint8Array(ends).buffer));
  await intoPostgres(({ copy, ...calls }) =>
    pipeline(
      rows,
      committed({
        ...calls,
        write: (lines: readonly Buffer[], client) => copy([Buffer.concat(lines)], client),
      }),
    ),
  );
}

/**
 * Delivers the lines of a CSV file, except its header. `ends` has the offset at which each line
 * ends. A cursor has the number of lines before it.
 */
function rowsOf(path: string, ends: Uint32Array): Flow<Buffer> {
  return new Flow(async function* ({ resume }) {
    await using file = await open(path);
    let done = resume === undefined ? 1 : Number(resume.done);
    while (done < ends.length) {
      const start = ends[done - 1]!;
      let next = done;
      while (next < ends.length && ends[next]! - start <= BLOCK) next++;
      next = Math.max(next, done + 1);
      const bytes = Buffer.allocUnsafe(ends[next - 1]! - start);
      await file.read(bytes, 0, bytes.length, start);
      const items: Buffer[] = [];
      for (; done < next; done++)
        items.push(bytes.subarray(ends[done - 1]! - start, ends[done]! - start));
      yield { items, cursor: { done } };
    }
  });
}
