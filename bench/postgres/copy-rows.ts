import { open } from 'node:fs/promises';
import { Flow } from 'millrace';
import type { Work } from '../question.js';
import { intoPostgres } from './into-postgres.js';

const [QUOTE, LF] = [0x22, 0x0a];

/** The rows of the CSV file that psql reads. */
export function run({ out }: Work): Promise<void> {
  return intoPostgres(rowsOf(`${out}/posts.csv`), lines => Buffer.concat(lines));
}

/** The lines of a file of CSV without its header. A cursor says where the next one begins. */
function rowsOf(path: string): Flow<Buffer> {
  return new Flow(async function* ({ resume }) {
    await using file = await open(path);
    let at = resume === undefined ? undefined : Number(resume.at);
    let rest: Buffer = Buffer.alloc(0);
    for await (const block of file.createReadStream({ start: at ?? 0, highWaterMark: 1 << 20 })) {
      const bytes = Buffer.concat([rest, block as Buffer]);
      const items: Buffer[] = [];
      let start = 0;
      let isQuoted = false;
      for (let place = 0; place < bytes.length; place++) {
        const byte = bytes[place];
        if (byte === QUOTE) isQuoted = !isQuoted;
        else if (byte === LF && !isQuoted) {
          if (at === undefined) at = 0;
          else items.push(bytes.subarray(start, place + 1));
          start = place + 1;
        }
      }
      at = (at ?? 0) + start;
      rest = bytes.subarray(start);
      yield { items, cursor: { at } };
    }
  });
}
