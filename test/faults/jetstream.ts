import path from 'node:path';
import { chaos, type Fault, mayLose, type PostArchive, writeArchive } from '../jetstream/chaos.js';
import { hasNatsServer, INSTALL } from '../jetstream/nats-server.js';
import { canMountDisk } from '../jetstream/small-disk.js';
import { PUBLISHER_CELLS } from './jetstream/publisher-cells.js';
import { READER_CELLS } from './jetstream/reader-cells.js';
import { type StreamCell, StreamSetting } from './jetstream/stream-setting.js';
import { type Cell, eachWithHit, type Part } from './part.js';

const FAULTS: Readonly<
  Record<string, { readonly faults: readonly Fault[]; readonly seeds: number }>
> = {
  leader: { faults: ['leader'], seeds: 30 },
  publisher: { faults: ['publisher'], seeds: 25 },
  consumers: { faults: ['consumer'], seeds: 25 },
  freeze: { faults: ['freeze'], seeds: 20 },
  partition: { faults: ['partition'], seeds: 30 },
  'storage-limit': { faults: ['limit'], seeds: 20 },
  'full-disk': { faults: ['disk'], seeds: 20 },
  'all-kills': { faults: ['leader', 'publisher', 'consumer'], seeds: 40 },
};

const LOSSES =
  'all is whole, or the readers name what nats-server has lost after it had acknowledged it, and nothing else is missing';

const script = (name: string) => path.join(import.meta.dirname, '../jetstream', `${name}.js`);

const CLUSTER_CELLS = Object.entries(FAULTS).map(([name, { faults, seeds }]): Cell => {
  const missing = !hasNatsServer
    ? INSTALL
    : faults.includes('disk') && !canMountDisk
      ? 'needs user namespaces, for a disk of its own'
      : undefined;
  if (missing !== undefined) return { name, expects: 'none', why: missing };
  const cell = { name, seeds, limitMs: 900_000 };
  return mayLose(faults)
    ? { ...cell, expects: 'holds', why: LOSSES }
    : { ...cell, expects: 'recovers' };
});

const SERVER_CELLS = [...READER_CELLS, ...PUBLISHER_CELLS].map(
  (cell): StreamCell =>
    hasNatsServer ? cell : { name: cell.name, expects: 'none', why: cell.why ?? INSTALL },
);
const DRAWS = 5;

export const jetstream: Part = {
  name: 'jetstream',
  title:
    'Posts through a JetStream cluster of three nodes, and a reader and a publisher of one server',
  promise:
    'A stored archive is published with three replicas and read by two consumers, each with a shard and a checkpoint: all files ' +
    'together have every post once, unchanged, and so has the stream, whatever is killed, stopped, cut off or full meanwhile. ' +
    'A reader and a publisher of one server do the same under the faults of the matrix.',
  cells: [...CLUSTER_CELLS, ...SERVER_CELLS],

  open(setting) {
    const { library, folder } = setting;
    let archive: Promise<PostArchive> | undefined;
    let server: Promise<StreamSetting> | undefined;
    return {
      async run(cell, trials) {
        const { attempt, draws = DRAWS } =
          SERVER_CELLS.find(({ name }) => name === cell.name) ?? {};
        if (attempt !== undefined) {
          server ??= StreamSetting.open(setting);
          const opened = await server;
          await eachWithHit(trials, draws, trial => attempt(opened, trial));
          return;
        }
        archive ??= writeArchive(path.join(folder, 'archive'), 20);
        const posts = await archive;
        await trials.each(({ random, folder, signal }) =>
          chaos({
            random,
            archive: posts,
            folder,
            library,
            signal,
            script,
            faults: FAULTS[cell.name]?.faults ?? [],
          }),
        );
      },
      close: async () => (await server)?.close(),
    };
  },
};
