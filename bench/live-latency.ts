import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { median } from './measure.js';
import type { Study } from './question.js';

const VARIANTS = [
  { name: 'millrace, compliance', module: 'millrace' },
  { name: 'undici.stream, zlib, split2, JSON.parse', module: 'undici-split2' },
  { name: 'node:http, zlib, split2, JSON.parse', module: 'http-split2' },
] as const;

/** From the flush of a message in the server to the parsed message in the consumer. */
export const liveLatency: Study = {
  name: 'live-latency',
  title: 'Live stream: from the flush in the server to the consumer',
  async run({ quick }) {
    const messages = quick ? 500 : 2_500;
    const server = fork(path.join(import.meta.dirname, 'live-latency/server.js'), [`${messages}`]);
    const [address] = (await once(server, 'message')) as [string];
    const seen = new Map<string, number[][]>(VARIANTS.map(({ name }) => [name, []]));
    for (let round = 0; round < (quick ? 3 : 5); round++)
      for (const { name, module } of round % 2 === 0 ? VARIANTS : VARIANTS.toReversed()) {
        const child = fork(path.join(import.meta.dirname, `live-latency/${module}.js`), [
          ...[address, `${messages}`],
        ]);
        const [latencies] = (await once(child, 'message')) as [number[]];
        child.kill();
        seen.get(name)?.push(latencies.sort((a, b) => a - b));
      }
    server.kill();
    const rows = [...seen].map(([name, rounds]) => {
      const at = (share: number) =>
        median(rounds.map(sorted => sorted[Math.floor(share * sorted.length)] as number));
      const shown = [0.5, 0.9, 0.99].map(share => (at(share) * 1000).toFixed(0));
      return `| ${[name, ...shown].join(' | ')} |`;
    });
    const markdown = [
      `${messages.toLocaleString('en')} compliance events, 250 a second, both ends on this machine;`,
      'microseconds, medians of the rounds.',
      '',
      '| | p50 | p90 | p99 |',
      '|---|---:|---:|---:|',
      ...rows,
      '',
    ].join('\n');
    return { markdown, charts: [] };
  },
};
