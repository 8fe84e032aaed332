import { setTimeout as sleep } from 'node:timers/promises';
import { account, replay } from 'millrace';
import { peakMemory } from '../peak-memory.js';

// Consumes a stream at a fixed rate for a given time. Usage: node slow.js ADDRESS FOLDER
// POSTS_PER_SECOND SECONDS
const [address, folder, perSecond, seconds] = process.argv.slice(2);
const MINUTE = 60_000;

export interface Slow {
  readonly posts: number;
  readonly peakMegabytes: number;
}

const acme = account({
  replayStreamUrl: address,
  account: 'bench',
  publisher: 'twitter',
  streamLabel: 'bench',
  email: 'bench@example.com',
  password: 'bench',
  limits: { replay: [] },
});
const to = Math.floor(Date.now() / MINUTE) * MINUTE - 60 * MINUTE;
const window = { fromDate: new Date(to - 16 * MINUTE), toDate: new Date(to) };
let posts = 0;
let began = 0;
for await (const _post of replay(acme, { streamType: 'firehose', folder, ...window })) {
  began ||= performance.now();
  posts++;
  const spent = performance.now() - began;
  if (spent > Number(seconds) * 1_000) break;
  await sleep(Math.max(0, (posts / Number(perSecond)) * 1_000 - spent));
}
const slow: Slow = { posts, peakMegabytes: peakMemory() / 2 ** 20 };
process.send?.(slow);
process.disconnect?.();
