import type { ChildProcess } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { spawn } from '../../child-processes.js';
import { KilledChild } from '../../killed-child.js';
import type { Counts, Trial } from '../part.js';
import type { Random } from '../random.js';
import type { BundledChild } from './bundle-child.js';
import { committedBytes } from './outputs.js';
import type { ChildWork, CommitWork } from './pipeline-child.js';

/**
 * Far more files than the threads hold at a time. Therefore, threads are still writing during every
 * commit.
 */
const FILES = 64;
const POSTS_A_FILE = 300;
const DAYS = ['2022-01-01', '2022-01-02', '2022-01-03'];
const BUSY_LOOPS = 2;
/**
 * The commit intervals to try, in ms. With 0, there is a commit at each cursor. 1,000 is the
 * default.
 */
const INTERVALS_MS = [0, 1, 10, 50, 250, 1_000];
/**
 * The number of writes of each thread: two threads together make three writes per file. Each write
 * is delayed, so that a run has several commits.
 */
const WRITES = (FILES * DAYS.length) / 2;
const COMMITS = 6;
const MIN_WRITE_MS = 4;

interface Day {
  readonly text: Buffer;
  /** The number of posts and bytes in the output after 0, 1, 2 and more input files. */
  readonly after: readonly { readonly posts: number; readonly bytes: number }[];
}

interface Committed {
  /** The number of input files whose posts the output must contain. */
  readonly files: number;
  readonly outputs: ReadonlyMap<string, { readonly posts: number; readonly bytes: number }>;
}

/**
 * Runs the script next to busy loops, and kills it at one commit after another. Compares each
 * checkpoint of each process with the outputs, which must contain exactly the posts before the
 * checkpoint's cursor.
 */
export async function killAtCommits(
  bundle: BundledChild,
  { random, folder, signal }: Trial,
): Promise<Counts> {
  const [input, out] = ['in', 'out'].map(name => path.join(folder, name)) as [string, string];
  await mkdir(input);
  await mkdir(out);
  const days = await store(input, random);
  const intervalMs = random.pick(INTERVALS_MS);
  const maxWriteMs = Math.max(MIN_WRITE_MS, Math.ceil((2 * COMMITS * intervalMs) / WRITES));
  const loops: readonly ChildProcess[] = Array.from({ length: BUSY_LOOPS }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  );
  try {
    let commits = 0;
    for (let kills = 0; ; kills++) {
      signal.throwIfAborted();
      const copies = path.join(folder, `commits-${kills}`);
      await mkdir(copies);
      // Later processes may live longer, so that one of them completes.
      const dieAt = random.whole(1, 2 + kills);
      const isBefore = random.chance(0.5);
      const seed = String(random.next());
      const child = start(
        bundle,
        { input, out },
        {
          intervalMs,
          copies,
          dieAt,
          isBefore,
          maxWriteMs,
          seed,
        },
      );
      const ended = await child.end();
      commits += await mustMatch(copies, out, days);
      if (ended === 'killed') continue;
      const items = days.reduce((sum, { after }) => sum + (after.at(-1)?.posts ?? 0), 0);
      for (const [index, { text }] of days.entries())
        if (!text.equals(await readFile(path.join(out, `${DAYS[index]}.jsonl`))))
          throw new Error(`The complete output of ${DAYS[index]} differs`);
      return { hits: kills, kills, commits, items };
    }
  } finally {
    for (const loop of loops) loop.kill('SIGKILL');
  }
}

async function store(input: string, random: Random): Promise<Day[]> {
  const lines: string[][] = DAYS.map(() => []);
  const after: { posts: number; bytes: number }[][] = DAYS.map(() => [{ posts: 0, bytes: 0 }]);
  let id = 1_000_000_000_000_000_000n;
  for (let file = 0; file < FILES; file++) {
    let text = '';
    for (let count = 0; count < POSTS_A_FILE; count++) {
      const day = random.whole(0, DAYS.length - 1);
      const words = 'word '.repeat(random.whole(0, 300));
      const line = `{"created_at":"Sat Jan 0${day + 1} 10:00:00 +0000 2022","id":${++id},"id_str":"${id}","text":"${words}"}\n`;
      lines[day]?.push(line);
      text += line;
    }
    for (const [day, of] of after.entries()) {
      const { posts = 0, bytes = 0 } = of.at(-1) ?? {};
      const more = lines[day]?.slice(posts) ?? [];
      const length = more.reduce((sum, line) => sum + line.length, 0);
      of.push({ posts: posts + more.length, bytes: bytes + length });
    }
    const name = `${String(file).padStart(3, '0')}.jsonl.gz`;
    await writeFile(path.join(input, name), gzipSync(text, { level: 1 }));
  }
  return DAYS.map((_, day) => ({
    text: Buffer.from((lines[day] ?? []).join('')),
    after: after[day] ?? [],
  }));
}

function start(
  { script, library }: BundledChild,
  { input, out }: { readonly input: string; readonly out: string },
  commits: CommitWork,
): KilledChild {
  const work: ChildWork = {
    row: 'stored files, threads',
    library: library.href,
    addresses: {},
    out,
    input,
    now: 0,
    paceMs: 0,
    commits,
  };
  return new KilledChild(script, [JSON.stringify(work)]);
}

async function mustMatch(copies: string, out: string, days: readonly Day[]): Promise<number> {
  const names = (await readdir(copies)).toSorted((a, b) => Number(a) - Number(b));
  const texts = await Promise.all(names.map(name => readFile(path.join(copies, name), 'utf8')));
  for (const [index, text] of texts.entries()) {
    const { files, outputs } = read(text);
    for (const [day, { after }] of days.entries()) {
      const expected = after[files] ?? { posts: Number.NaN, bytes: Number.NaN };
      const { posts, bytes } = outputs.get(DAYS[day] ?? '') ?? { posts: 0, bytes: 0 };
      if (posts !== expected.posts || bytes !== expected.bytes)
        throw new Error(
          `Commit ${index + 1} of a process: the first ${files} files have ${expected.posts} posts of ${DAYS[day]} in ${expected.bytes} bytes, and it counts ${posts} in ${bytes}`,
        );
    }
  }
  for (const { name, bytes } of await committedBytes(out)) {
    const { text } = days[DAYS.indexOf(path.basename(name, '.jsonl'))] as Day;
    if (!bytes.equals(text.subarray(0, bytes.length)))
      throw new Error(
        `${name}: its ${bytes.length} committed bytes are not the first of its posts`,
      );
  }
  return texts.length;
}

function read(text: string): Committed {
  const { state, cursor, files } = JSON.parse(text) as {
    state: string;
    cursor: unknown;
    files: { path: string; posts: number; bytes: number }[];
  };
  const [, count] = /"source":"local-files","files":(\d+)/.exec(JSON.stringify(cursor)) ?? [];
  if (state === 'running' && count === undefined)
    throw new Error(`A checkpoint without a cursor: ${text}`);
  const outputs = new Map(
    files.map(({ path: name, posts, bytes }) => [path.basename(name, '.jsonl'), { posts, bytes }]),
  );
  // In all other states, everything is written. No run needs the cursor then, so the checkpoint
  // still contains the cursor of the previous commit.
  return { files: state === 'running' ? Number(count) : FILES, outputs };
}
