import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createService } from 'millrace/service';
import { median } from './measure.js';
import type { Bar, Study } from './question.js';

interface Start {
  readonly name: string;
  readonly args: readonly string[];
}

const scriptOf = (name: string) => path.join(import.meta.dirname, 'cold-starts', `${name}.js`);
const COMMAND = fileURLToPath(new URL('command/millrace.js', import.meta.resolve('millrace')));

const STARTS: readonly Start[] = [
  { name: 'node -e 0', args: ['-e', '0'] },
  { name: "import 'millrace'", args: [scriptOf('import')] },
  { name: 'millrace --help', args: [COMMAND, '--help'] },
  { name: 'search of one page to a file', args: [scriptOf('search')] },
  { name: 'createService() to its first answer', args: [scriptOf('service')] },
];

export const coldStarts: Study = {
  name: 'cold-starts',
  title: 'Cold starts: small runs, from the start of Node to its end',
  async run({ quick, places }) {
    await using service = createService({ seed: 'cold', limits: 'relaxed' });
    const addresses = JSON.stringify(await service.start());
    const runs = new Map<Start, number[]>(STARTS.map(start => [start, []]));
    // Round -1 is not recorded. It makes the service cache the results of the search.
    for (let round = -1; round < (quick ? 1 : 11); round++)
      for (const start of STARTS) {
        const ms = await timeOf([...start.args, addresses], places.scratch);
        if (round >= 0) runs.get(start)?.push(ms);
      }
    const bare = median([...runs.values()][0] ?? []);
    return {
      markdown: [
        `Milliseconds, medians of ${quick ? 1 : 11} in turns. The search fetches 100 posts from a local service in another process.`,
        '',
        '| | ms | spread | more than `node -e 0` |',
        '| --- | ---: | ---: | ---: |',
        ...[...runs].map(([{ name }, ms]) => line(name, ms, bare)),
        '',
      ].join('\n'),
      charts: [
        {
          ...{ name: 'cold-starts', title: coldStarts.title, unit: 'ms', better: 'less' },
          bars: [...runs].map(
            ([{ name }, values], index): Bar => ({
              name,
              kind: index === 0 ? 'limit' : 'ours',
              values,
            }),
          ),
        },
      ],
    };
  },
};

async function timeOf(args: readonly string[], scratch: string): Promise<number> {
  const cwd = await mkdtemp(path.join(scratch, 'cold-'));
  try {
    const began = performance.now();
    const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`cold-starts: ${args[0]} ended with exit code ${code}`);
    return performance.now() - began;
  } finally {
    await rm(cwd, { recursive: true });
  }
}

function line(name: string, ms: readonly number[], bare: number): string {
  const cells = [
    `\`${name}\``,
    median(ms).toFixed(0),
    `${Math.min(...ms).toFixed(0)}–${Math.max(...ms).toFixed(0)}`,
    (median(ms) - bare).toFixed(0),
  ];
  return `| ${cells.join(' | ')} |`;
}
