import { messageOf, start } from './children.js';
import { median } from './measure.js';
import type { Study } from './question.js';

const VARIANTS = [
  { name: 'millrace, compliance', module: 'millrace' },
  { name: 'node:http, and our operators', module: 'operators' },
  { name: 'node:http, zlib, split2', module: 'http-split2' },
  { name: 'undici.stream, zlib, split2', module: 'undici-stream' },
  { name: 'undici.request, zlib, split2', module: 'undici-request' },
  { name: 'fetch, split2', module: 'fetch' },
] as const;

const EVERY_MS = 4;
/**
 * The number of messages for warm-up. A real stream runs for days, so its code is fully optimised
 * most of the time.
 */
const WARM_UP = 5_000;

interface Round {
  /** The latencies of all messages in microseconds, in ascending order. */
  readonly latencies: readonly number[];
  /** The CPU time that all threads take for 1,000 messages, in milliseconds. */
  readonly cpuMs: number;
}

export const liveLatency: Study = {
  name: 'live-latency',
  title: 'Live stream: from the flush in the server to the consumer',
  async run({ quick }) {
    const messages = quick ? 300 : 1_000;
    const warmUp = quick ? 500 : WARM_UP;
    const rounds = new Map<string, Round[]>(VARIANTS.map(({ name }) => [name, []]));
    for (let round = 0; round < (quick ? 1 : 9); round++)
      for (const { name, module } of round % 2 === 0 ? VARIANTS : VARIANTS.toReversed())
        rounds.get(name)?.push(await runOnce(module, messages, warmUp));
    const latenciesAt = (name: string, fraction: number) =>
      (rounds.get(name) ?? []).map(
        ({ latencies }) => latencies[Math.floor(fraction * latencies.length)] as number,
      );
    const rows = VARIANTS.map(({ name }) => {
      const shown = [0.5, 0.9, 0.99].map(fraction =>
        median(latenciesAt(name, fraction)).toFixed(0),
      );
      const p50 = latenciesAt(name, 0.5);
      const cpu = median((rounds.get(name) ?? []).map(({ cpuMs }) => cpuMs));
      const cells = [...shown, `${Math.min(...p50)}–${Math.max(...p50)}`, cpu.toFixed(0)];
      return `| ${[name, ...cells].join(' | ')} |`;
    });
    const markdown = [
      `${messages.toLocaleString('en')} compliance events, ${1_000 / EVERY_MS} a second, from a server in a ` +
        'process of its own that has compressed them beforehand: from its write of a flushed message to the ' +
        `event, parsed, in the consumer, after ${warmUp.toLocaleString('en')} that came faster. Microseconds, medians of the rounds; both ` +
        'ends on this machine. CPU time is that of the whole process from then on.',
      '',
      '| | p50 | p90 | p99 | spread of p50 | CPU ms per 1,000 |',
      '|---|---:|---:|---:|---:|---:|',
      ...rows,
      '',
    ].join('\n');
    const bars = [0.5, 0.99].flatMap(fraction =>
      VARIANTS.map(({ name }, index) => ({
        panel: fraction === 0.5 ? 'half of all messages came within' : '99 of 100 came within',
        name,
        kind: index < 2 ? ('ours' as const) : ('peer' as const),
        values: latenciesAt(name, fraction),
      })),
    );
    const { name, title } = liveLatency;
    return { markdown, charts: [{ name, title, unit: 'microseconds', better: 'less', bars }] };
  },
};

async function runOnce(module: string, messages: number, warmUp: number): Promise<Round> {
  const all = warmUp + messages;
  const server = start('live-latency/server.js', all, EVERY_MS, warmUp);
  const address = await messageOf<string>(server);
  const sent = messageOf<number[]>(server);
  const client = start(`live-latency/${module}.js`, address, all, warmUp);
  const { arrivals, cpuMs } = await messageOf<{ arrivals: number[]; cpuMs: number }>(client);
  client.kill();
  const latencies = (await sent)
    .map((at, index) => (arrivals[index] as number) - at)
    .slice(warmUp)
    .sort((a, b) => a - b);
  server.kill();
  return { latencies, cpuMs: (cpuMs / messages) * 1_000 };
}
