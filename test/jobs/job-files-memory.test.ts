import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { expect, it } from 'vitest';
import { fork } from '../child-processes.js';
import { compiled } from '../compiled.js';
import { bySuite } from '../suite.js';
import { jobServer, servedFile, servedFiles, UUID, whole } from './job-server.js';

const SCRIPT = compiled(path.join(import.meta.dirname, 'job-to-count.ts'));
const MEGABYTE = 2 ** 20;

/** The memory of a Node process that has only loaded the library. */
const IDLE = 75 * MEGABYTE;

/**
 * Reads a job in a separate process. Returns the peak memory. Also returns by how much the memory
 * in use grows during the last two thirds of the files.
 */
async function memoryOf(
  files: number,
  posts: number,
): Promise<{ bytes: number; kept: number; posts: number }> {
  // All files have the same content, so the server needs little memory, however many files there
  // are.
  const lines = Array.from({ length: posts }, (_, i) =>
    JSON.stringify({ id: i, text: randomBytes(150).toString('hex').repeat(6), created_at: 'x' }),
  );
  const model = servedFile('202401010000', lines);
  const segments = servedFiles(Math.min(files, 144), { posts: 0 }).map(file => file.segment);
  const served = await jobServer({
    files: segments.map(segment => ({ ...model, segment })),
  });
  for (const segment of segments) served.faults.set(segment, () => whole(model.gzip));
  const child = fork(SCRIPT, [served.server.url, UUID, String(files * posts)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  try {
    return await new Promise((resolve, reject) => {
      child.once('message', resolve as (message: unknown) => void);
      child.once('exit', code => reject(new Error(`The script ended with ${code}`)));
    });
  } finally {
    child.kill('SIGKILL');
    await served.stop();
  }
}

it('jobFiles needs less than 250 MB of memory for any number of files', async () => {
  const posts = bySuite(2_000, 20_800);
  const large = await memoryOf(144, posts);
  expect(large.posts).toBe(144 * posts);
  // The measured totals are 186 to 218 MB, and higher on a busy machine.
  expect(IDLE + large.bytes).toBeLessThan(250 * MEGABYTE);
  // `kept` is the memory that was added during the last 96 files, each of which has at least 3.6 MB.
  // If the library kept only some of these files, `kept` would exceed this limit. `kept` varies less
  // between runs than the peak memory.
  expect(large.kept).toBeLessThan(20 * MEGABYTE);
});
