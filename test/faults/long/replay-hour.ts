import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Fault } from 'millrace/service';
import { expectedPosts } from '../matrix/bare-client.js';
import { mustEqual } from '../matrix/compare.js';
import { postsOf } from '../matrix/outputs.js';
import type { Millrace } from '../matrix/pipeline.js';
import { minuteOf, NOW } from '../matrix/windows.js';
import type { Counts, Trial } from '../part.js';
import type { Random } from '../random.js';
import type { Course } from './course.js';
import { Hour } from './hour.js';

const MINUTE = 60_000;
const WINDOW_MS = 16 * MINUTE;
const FROM = NOW - 3 * 24 * 60 * MINUTE;

/**
 * Replays time ranges one after the other for a number of minutes. Each range needs at least one
 * connection, of which only five are allowed in five minutes.
 */
export async function replayHour(
  millrace: Millrace,
  minutes: number,
  { folder, random, signal }: Trial,
  course: Course,
): Promise<Counts> {
  await using hour = await Hour.open(
    millrace,
    random,
    // The library expects a request to arrive within one second of real time, so work runs at speed
    // 1.
    { speed: 1, waitSpeed: 30 },
    { postsPerMinute: 100 },
  );
  const { clock, account } = hour;
  const end = NOW + minutes * MINUTE;
  hour.countConnections('replay');
  let waits = 0;
  const onWait = ({ reason }: { readonly reason: string }) => {
    if (reason === 'connect limit') waits++;
  };
  const files: string[] = [];
  while (clock.now() < end) {
    const from = FROM + files.length * WINDOW_MS;
    if (random.chance(0.4)) hour.plant(brokenReplay(random, from));
    const file = path.join(folder, `${files.length}.jsonl`);
    const [started, waited] = [performance.now(), clock.waitedMs];
    await millrace.pipeline(
      millrace.replay(account, {
        streamType: 'firehose',
        fromDate: new Date(from),
        toDate: new Date(from + WINDOW_MS),
        folder: path.join(folder, 'spool'),
        // With this small limit, most of the data goes through a file.
        maxMemory: 1_000_000,
        onWait,
      }),
      millrace.files({ path: file, checkpoint: `${file}.checkpoint` }),
      { signal },
    );
    files.push(file);
    const workMs = performance.now() - started - (clock.waitedMs - waited);
    course.step({ 'a window without its waits, ms': workMs });
  }
  const { hits, connections: [connections = 0] = [] } = await hour.clear();
  // Five connections are allowed at first, and five more for each period of five minutes that has
  // started.
  const allowed = 5 * (Math.ceil((clock.now() - NOW) / (5 * MINUTE)) + 1);
  if (connections > allowed || hour.tooMany > 0)
    throw new Error(`${connections} of ${allowed} connections, ${hour.tooMany} refused`);
  if (waits === 0) throw new Error('The limit of connections was never reached');

  let items = 0;
  for (const [index, file] of files.entries()) {
    const from = FROM + index * WINDOW_MS;
    const lines = (await readFile(file, 'utf8')).split('\n').slice(0, -1);
    const posts = await hour.fetchReplay('firehose', from, from + WINDOW_MS);
    mustEqual(postsOf(lines), expectedPosts(posts));
    items += lines.length;
  }
  return { hits, windows: files.length, connections, waits, items, lost: 0, doubled: 0 };
}

function brokenReplay(random: Random, from: number): Fault {
  const endpoint = 'replay';
  const minute = minuteOf(from + random.whole(0, WINDOW_MS / MINUTE - 1) * MINUTE);
  const afterBytes = random.whole(1_000, 500_000);
  const afterMessages = random.whole(1, 1_000);
  return random.pick<Fault>([
    { kind: 'cut', afterBytes, end: 'reset', endpoint },
    { kind: 'cut', afterBytes, end: 'finish', endpoint },
    { kind: 'flip', atByte: afterBytes, endpoint },
    { kind: 'content-cut', afterMessages, within: 'message', end: 'close', endpoint },
    { kind: 'status', status: 503, endpoint },
    { kind: 'wrong-count', by: -1, endpoint },
    { kind: 'minutes-failed', minutes: [minute], deliver: 'part', endpoint },
    { kind: 'unprocessed-range', fromDate: minute, deliver: 'part', endpoint },
  ]);
}
