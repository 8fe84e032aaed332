// `npm run repeat`: runs `npm test` several times. In half of the runs, other processes keep the
// machine busy. If a test fails in only some of the runs, it depends on time or on chance.
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { spawn } from './child-processes.js';
import { runSuite } from './faults/run-suite.js';
import { numberFlag } from './number-flag.js';

const HELP = `npm run repeat -- [--runs N] [--busy N]

  --runs N    how often the suite runs; the second half runs beside busy processes (default: 20)
  --busy N    how many busy processes (default: 8)
`;

const { values } = parseArgs({
  options: {
    runs: { type: 'string' },
    busy: { type: 'string' },
    help: { type: 'boolean' },
  },
});
if (values.help === true) process.stdout.write(HELP);
else process.exitCode = await main();

async function main(): Promise<number> {
  const runs = numberFlag('runs', values.runs) ?? 20;
  const busy = numberFlag('busy', values.busy) ?? 8;
  const folder = await mkdtemp(path.join(os.tmpdir(), 'millrace-repeat-'));
  let passed = 0;
  try {
    for (let run = 1; run <= runs; run++) {
      const loops = run > runs / 2 ? busy : 0;
      const before = performance.now();
      const outcome = await outcomeOf(folder, loops);
      const seconds = ((performance.now() - before) / 1000).toFixed(0);
      if (outcome.isPassed) passed++;
      console.log(
        `${String(run).padStart(3)} ${seconds.padStart(6)} s  ${loops} busy  ${outcome.text}`,
      );
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  console.log(`\n${passed} of ${runs} runs passed`);
  return passed === runs ? 0 : 1;
}

interface Outcome {
  readonly isPassed: boolean;
  /** The number of tests that have passed, or the names of those that have failed. */
  readonly text: string;
}

async function outcomeOf(folder: string, loops: number): Promise<Outcome> {
  const busy = Array.from({ length: loops }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  );
  try {
    const { signal } = new AbortController();
    const { tests } = await runSuite([], { folder, signal }, 'everyday');
    return { isPassed: true, text: `${tests} passed` };
  } catch (error) {
    return { isPassed: false, text: String(error) };
  } finally {
    for (const loop of busy) loop.kill('SIGKILL');
  }
}
