import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Sample, Work } from './question.js';

// One run of one variant in a process of its own: node child.js MODULE, its work on stdin.
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
const cpuBefore = process.cpuUsage();
const before = performance.now();
await run(work);
const seconds = (performance.now() - before) / 1000;
const { user, system } = process.cpuUsage(cpuBefore);
const sample: Sample = {
  seconds,
  cpuSeconds: (user + system) / 1e6,
  peakMegabytes: process.resourceUsage().maxRSS / 1024,
};
process.stdout.write(`${JSON.stringify(sample)}\n`);
