import path from 'node:path';
import { chaos, type Fault, mayLose, writeArchive } from '../jetstream/chaos.js';
import { hasNatsServer, INSTALL } from '../jetstream/nats-server.js';
import { canMountDisk } from '../jetstream/small-disk.js';
import type { Cell, Part } from './part.js';

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

/** Compiled like this file, beside it. */
const script = (name: string) => path.join(import.meta.dirname, '../jetstream', `${name}.js`);

export const jetstream: Part = {
  name: 'jetstream',
  title: 'Posts through a JetStream cluster of three nodes',
  promise:
    'A stored archive is published with three replicas and read by two consumers, each with a share and a checkpoint: all files ' +
    'together have every post once, unchanged, and so has the stream, whatever is killed, stopped, cut off or full meanwhile.',
  cells: Object.entries(FAULTS).map(([name, { faults, seeds }]): Cell => {
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
  }),

  async open({ library, folder }) {
    const archive = await writeArchive(path.join(folder, 'archive'), 20);
    return {
      run: ({ name }, trials) =>
        trials.each(({ random, folder, signal }) =>
          chaos({
            ...{ random, archive, folder, library, signal, script },
            faults: FAULTS[name]?.faults ?? [],
          }),
        ),
    };
  },
};
