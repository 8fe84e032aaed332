import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { archiveSearch } from './archive-search.js';
import { hops } from './hops.js';
import { jobs } from './jobs.js';
import { live } from './live.js';
import { liveLatency } from './live-latency.js';
import { measure } from './measure.js';
import type { Question, Study } from './question.js';
import { report } from './report.js';
import { rules } from './rules.js';
import { storedFiles } from './stored-files.js';

const QUESTIONS: readonly Question[] = [storedFiles, jobs, live, hops];
const STUDIES: readonly Study[] = [liveLatency, rules, archiveSearch];
const NAMES = [...QUESTIONS, ...STUDIES].map(question => question.name);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, runs: { type: 'string' } },
});
const names = positionals.length > 0 ? positionals : NAMES;
const unknown = names.filter(name => !NAMES.includes(name));
if (unknown.length > 0) {
  console.error(`No such question: ${unknown.join(', ')}`);
  console.error(`There are: ${NAMES.join(', ')}`);
  process.exit(2);
}

const [cpu] = os.cpus();
console.log(
  `Node ${process.version}, ${os.cpus().length} x ${cpu?.model ?? 'unknown'}, ` +
    `${(os.totalmem() / 2 ** 30).toFixed(0)} GiB\n`,
);
const cache = path.join(process.cwd(), 'bench/.cache');
await mkdir(cache, { recursive: true });
const scratch = await mkdtemp(path.join(cache, 'scratch-'));
try {
  for (const question of QUESTIONS.filter(({ name }) => names.includes(name))) {
    const runs = Number(values.runs ?? (values.quick ? 3 : 5));
    console.log(report(question, await measure(question, { quick: values.quick, runs, scratch })));
  }
  for (const study of STUDIES.filter(({ name }) => names.includes(name)))
    console.log(`## ${study.title}\n\n${await study.run({ quick: values.quick })}`);
} finally {
  await rm(scratch, { recursive: true, force: true });
}
