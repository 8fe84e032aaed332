import { readdirSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { peakMemory } from './peak-memory.js';
import type { Sample, Work } from './question.js';

// Runs one variant once, in a separate process. Usage: node child.js MODULE, with the work as JSON
// on stdin.
const [modulePath = ''] = process.argv.slice(2);

let json = '';
for await (const chunk of process.stdin) json += chunk;
const work = JSON.parse(json) as Work;
const { run } = (await import(pathToFileURL(modulePath).href)) as {
  run(work: Work): Promise<void>;
};

if (work.warmUp !== undefined) {
  const out = path.join(work.out, 'warm-up');
  await mkdir(out);
  await run({ ...work, ...work.warmUp, out, compared: false });
}
let openFiles = 0;
const counting = setInterval(() => {
  openFiles = Math.max(openFiles, countOpenFiles());
}, 250);
const mainBefore = mainSeconds();
const cpuBefore = process.cpuUsage();
const before = performance.now();
await run(work);
const seconds = (performance.now() - before) / 1000;
const { user, system } = process.cpuUsage(cpuBefore);
clearInterval(counting);
const mainAfter = mainSeconds();
const sample: Sample = {
  seconds,
  cpuSeconds: (user + system) / 1e6,
  mainSeconds:
    mainBefore === undefined || mainAfter === undefined ? undefined : mainAfter - mainBefore,
  peakMegabytes: peakMemory() / 2 ** 20,
  openFiles: openFiles === 0 ? undefined : openFiles,
};
process.stdout.write(`${JSON.stringify(sample)}\n`);

/**
 * Returns the CPU time of the main thread in seconds. The first number of `schedstat` is this time
 * in nanoseconds.
 */
function mainSeconds(): number | undefined {
  try {
    const [ns] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
    return Number(ns) / 1e9;
  } catch {
    return undefined;
  }
}

function countOpenFiles(): number {
  return process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0;
}
