import { mkdir, mkdtemp, rm, statfs } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { archiveSearch } from './archive-search.js';
import { coldStarts } from './cold-starts.js';
import { cores } from './cores.js';
import { cost } from './cost.js';
import { drawCharts } from './draw.js';
import { generatedPosts } from './generated-posts.js';
import { hops } from './hops.js';
import { hostile } from './hostile.js';
import { jetstream } from './jetstream.js';
import { jobs, jobsToFiles } from './jobs.js';
import { live } from './live.js';
import { liveLatency } from './live-latency.js';
import { liveSlow } from './live-slow.js';
import { measure } from './measure.js';
import { parsedPath } from './parsed-path.js';
import { postgres } from './postgres.js';
import type { Places, Question, Study } from './question.js';
import { MACHINE, type Recorded, raceChart, readRecord, record } from './record.js';
import { ONE_RUN, report } from './report.js';
import { ruleFiles } from './rule-files.js';
import { rulesQuestion } from './rules.js';
import { search } from './search.js';
import { storedDeleted } from './stored-deleted.js';
import { storedFiles, storedFilesOthers } from './stored-files.js';
import { summary } from './summary.js';
import { tables } from './tables.js';
import { tombstones } from './tombstones.js';

const QUESTIONS: readonly Question[] = [
  storedFiles,
  ...storedFilesOthers,
  storedDeleted,
  ruleFiles,
  parsedPath,
  jobs,
  jobsToFiles,
  live,
  hops,
];
const STUDIES: readonly Study[] = [
  liveLatency,
  liveSlow,
  search,
  rulesQuestion,
  hostile,
  archiveSearch,
  tombstones,
  jetstream,
  tables,
  postgres,
  cost,
  cores,
  coldStarts,
  generatedPosts,
];
const NAMES = [...QUESTIONS, ...STUDIES].map(question => question.name);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    runs: { type: 'string' },
    out: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(help());
  process.exit();
}
// If the only name is `charts`, nothing is measured; the recorded results are drawn again.
const names = positionals.length > 0 ? positionals : NAMES;
const unknown = names.filter(name => ![...NAMES, 'charts'].includes(name));
if (unknown.length > 0) {
  console.error(`No such question: ${unknown.join(', ')}`);
  console.error(`There are: ${NAMES.join(', ')}, charts`);
  process.exit(2);
}

console.log(`${MACHINE}\n`);
if (values.quick) console.log(`${ONE_RUN}\n`);
const cache = path.join(process.cwd(), 'bench/.cache');
await mkdir(cache, { recursive: true });
// A quick run writes its results to the cache folder, so it never replaces the results of a
// complete run.
const results = values.quick ? cache : path.join(process.cwd(), 'bench');
const figures = path.join(results, 'results.json');
const places = await placesOf(values.out);
console.log(`Output goes to ${places.inMemory ? 'memory' : places.scratch}.\n`);
const answers: Record<string, Recorded> = {};
try {
  for (const question of QUESTIONS.filter(({ name }) => names.includes(name))) {
    const runs = Number(values.runs ?? (values.quick ? 1 : 7));
    const answer = await measure(question, { quick: values.quick, runs, places });
    console.log(report(question, answer));
    const charts = question.charts?.(answer) ?? [raceChart(question, answer)];
    answers[question.name] = await record(figures, question.name, charts);
  }
  for (const study of STUDIES.filter(({ name }) => names.includes(name))) {
    const { markdown, charts } = await study.run({ quick: values.quick, places });
    console.log(`## ${study.title}\n\n${markdown}`);
    answers[study.name] = await record(figures, study.name, charts);
  }
  if (Object.keys(answers).length > 0) console.log(summary(answers));
  for (const file of await drawCharts(await readRecord(figures), path.join(results, 'charts')))
    console.log(`Drawn: ${path.relative(process.cwd(), file)}`);
} finally {
  await rm(places.scratch, { recursive: true, force: true });
  await rm(places.disk, { recursive: true, force: true });
}

function help(): string {
  const questions = [...QUESTIONS, ...STUDIES].map(
    ({ name, title }) => `  ${name.padEnd(16)} ${title}`,
  );
  return `Usage: npm run bench -- [question ...] [flags]

Questions (default: all):
${questions.join('\n')}
  ${'charts'.padEnd(16)} Draws the charts from the last figures, and measures nothing

Flags:
  --quick          small inputs and one run; the figures are not recorded in bench/results.json
  --runs N         timed runs of each variant of a race (default: 7, or 1 with --quick)
  --out FOLDER     where variants write (default: memory, where there is room)
  --help           print this`;
}

/**
 * Returns the folders for output. The main folder is in memory if there is enough room for the
 * output of the variants. Otherwise, the results would also depend on the speed of the disk.
 */
async function placesOf(named: string | undefined): Promise<Places> {
  const disk = await mkdtemp(path.join(cache, 'scratch-'));
  const inMemory = named === undefined && (await freeBytes('/dev/shm')) > 4 * 2 ** 30;
  const folder = named ?? (inMemory ? '/dev/shm' : cache);
  return { scratch: await mkdtemp(path.join(folder, 'millrace-bench-')), disk, inMemory };
}

async function freeBytes(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return 0;
  }
}
