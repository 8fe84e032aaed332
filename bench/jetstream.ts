import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { messageOf, start, stop } from './children.js';
import { storedCorpus } from './corpus.js';
import { countingProxy } from './jetstream/counting-proxy.js';
import { hasNatsServer, startServers } from './jetstream/servers.js';
import type { Done, Task } from './jetstream/task.js';
import { median } from './measure.js';
import type { Bar, Places, Study } from './question.js';

const IN_FLIGHT = 500;
const REPLICAS = [1, 3] as const;
const PUBLISH = { step: 'publish', name: 'millrace', module: 'publish', stream: 'ours' } as const;
const CONSUME = { step: 'consume', name: 'millrace', module: 'consume', stream: 'ours' } as const;
const STEPS = [
  PUBLISH,
  { step: 'publish', name: 'the bare client', module: 'bare-publish', stream: 'bare' },
  {
    ...{ step: 'publish', name: 'the bare client, our headers' },
    ...{ module: 'bare-publish-headers', stream: 'headers' },
  },
  CONSUME,
  { step: 'consume', name: 'the bare client', module: 'bare-consume', stream: 'bare' },
] as const;

type Step = (typeof STEPS)[number];

const MESSAGES = [
  { name: 'a post a message', batch: undefined },
  { name: 'batches of up to 100 posts', batch: {} },
  { name: 'batches, gzip', batch: { compression: 'gzip' } },
] as const;

interface Row {
  readonly replicas: 1 | 3;
  readonly step: Step;
  readonly runs: readonly Done[];
}

export const jetstream: Study = {
  name: 'jetstream',
  title: 'JetStream: posts published and consumed',
  async run({ quick, places }) {
    if (!hasNatsServer)
      return {
        markdown: 'Skipped: needs nats-server (`apt-get install nats-server`).\n',
        charts: [],
      };
    const { files, posts, duplicates, bytes } = await storedCorpus({ files: quick ? 4 : 12 });
    const rounds = quick ? 1 : 3;
    const rows: Row[] = [];
    for (const replicas of REPLICAS) {
      const runs = STEPS.map(step => ({ replicas, step, runs: [] as Done[] }));
      for (let round = 0; round < rounds; round++) {
        const servers = await startServers(replicas, places.scratch);
        try {
          for (const { step, runs: done } of round % 2 === 0 ? runs : swapped(runs)) {
            const out = path.join(places.scratch, 'jetstream');
            await mkdir(out, { recursive: true });
            const task: Task = {
              ...{ urls: servers.urls, replicas, inFlight: IN_FLIGHT, files, out },
              stream: step.stream,
              posts: posts - duplicates,
            };
            done.push(await measured(step, task));
            await rm(out, { recursive: true });
          }
        } finally {
          await servers.stop();
        }
      }
      rows.push(...runs);
    }
    const input = { files, posts: posts - duplicates };
    const sizes: string[] = [];
    for (const { name, batch } of MESSAGES)
      sizes.push(await onTheWire(name, { ...input, batch }, places));
    return {
      markdown: [
        `${(posts - duplicates).toLocaleString('en')} posts, ${(bytes / 1e6).toFixed(0)} MB of JSON, ${IN_FLIGHT} publishes in flight, file storage, servers and`,
        `clients on this machine; medians of ${rounds}. Ours reads stored files, commits its cursor, and writes with a checkpoint; the bare`,
        'client has posts and ids in memory, and keeps no cursor.',
        '',
        '| | replicas | | posts/s | spread | cpu s | peak MiB |',
        '| --- | ---: | --- | ---: | ---: | ---: | ---: |',
        ...rows.map(line),
        '',
        'Bytes between client and server, through a proxy that counts them, one replica, one run; speeds are those with the proxy.',
        '',
        '| | published, MB | published, posts/s | consumed, MB | consumed, posts/s |',
        '| --- | ---: | ---: | ---: | ---: |',
        ...sizes,
        '',
      ].join('\n'),
      charts: [
        {
          ...{
            name: 'jetstream',
            title: 'Posts through JetStream',
            unit: 'posts/s',
            better: 'more',
          },
          bars: rows.map(
            ({ replicas, step, runs }): Bar => ({
              panel: `${step.step}, ${replicas} ${replicas === 1 ? 'replica' : 'replicas'}`,
              name: step.name,
              kind: step.name === 'millrace' ? 'ours' : 'peer',
              values: runs.map(({ posts, seconds }) => posts / seconds),
            }),
          ),
        },
      ],
    };
  },
};

async function onTheWire(
  name: string,
  input: Pick<Task, 'files' | 'posts' | 'batch'>,
  places: Places,
): Promise<string> {
  const servers = await startServers(1, places.scratch);
  const proxy = await countingProxy(Number(new URL(servers.urls[0] ?? '').port));
  const out = path.join(places.scratch, 'jetstream');
  await mkdir(out, { recursive: true });
  try {
    const task: Task = {
      ...input,
      ...{ urls: [proxy.url], stream: 'ours', replicas: 1, inFlight: IN_FLIGHT, out },
    };
    const publish = await measured(PUBLISH, task);
    const { sent } = proxy.bytes;
    const consume = await measured(CONSUME, task);
    const cells = [
      name,
      (sent / 1e6).toFixed(1),
      rate(publish),
      (proxy.bytes.received / 1e6).toFixed(1),
      rate(consume),
    ];
    return `| ${cells.join(' | ')} |`;
  } finally {
    await proxy.close();
    await servers.stop();
    await rm(out, { recursive: true });
  }
}

function rate({ posts, seconds }: Done): string {
  return Math.round(posts / seconds).toLocaleString('en');
}

/**
 * Returns the steps with the variants in reverse order. All publish steps still come before all
 * consume steps.
 */
function swapped<T extends Pick<Row, 'step'>>(rows: readonly T[]): T[] {
  const published = rows.filter(({ step }) => step.step === 'publish').reverse();
  return [...published, ...rows.filter(({ step }) => step.step === 'consume').reverse()];
}

async function measured(step: Step, task: Task): Promise<Done> {
  const child = start(`jetstream/${step.module}.js`, JSON.stringify(task));
  try {
    const done = await messageOf<Done>(child);
    if (done.posts !== task.posts)
      throw new Error(
        `${step.name}: ${step.step} had ${done.posts} posts instead of ${task.posts}`,
      );
    return done;
  } finally {
    await stop(child);
  }
}

function line({ replicas, step, runs }: Row): string {
  const rates = runs.map(({ posts, seconds }) => posts / seconds);
  const shown = (value: number) => Math.round(value).toLocaleString('en');
  const cells = [
    step.step,
    String(replicas),
    step.name,
    shown(median(rates)),
    `${shown(Math.max(...rates))}–${shown(Math.min(...rates))}`,
    median(runs.map(({ cpuSeconds }) => cpuSeconds)).toFixed(1),
    median(runs.map(({ peakMegabytes }) => peakMegabytes)).toFixed(0),
  ];
  return `| ${cells.join(' | ')} |`;
}
