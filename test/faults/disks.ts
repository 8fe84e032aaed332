import { faultsOf, KEPT } from './disks/all-kept-files.js';
import { cutLmdb } from './disks/cut-lmdb.js';
import { failLmdb, type LmdbFault } from './disks/fail-lmdb.js';
import { KEPT_BY_LMDB } from './disks/kept-by-lmdb.js';
import { type DiskFault, sweepDisk } from './disks/sweep-disk.js';
import { withoutStrace } from './disks/system-calls.js';
import type { Cell, CellResult, Part } from './part.js';
import { table } from './report.js';

const FAULTS: Readonly<Record<DiskFault, string>> = {
  kill: 'kill -9',
  power: 'power cut',
  ENOSPC: 'full disk',
  EIO: 'failing disk',
  unreadable: 'failing reads',
};

const LMDB_FAULTS: readonly DiskFault[] = ['kill', 'power', 'ENOSPC', 'EIO'];

/**
 * The reason why strace cannot be used, if there is one. Determined once, because the check starts
 * processes.
 */
const MISSING = withoutStrace();

/**
 * Injects each disk fault at every file-system call, for each kind of stored files. The seed
 * decides which unsynced data survives a power cut.
 */
export const disks: Part = {
  name: 'disks',
  title: 'Everything that is kept on disk',
  promise:
    'After a kill or a power cut at any call of the disk, and after a call that fails, a reader finds the state before or after the interrupted call, never a mixture; nothing that was confirmed is lost; the next run goes on from it. A failing call is a `StorageError` with its path.',
  seeds: 5,
  cells: [
    ...[...KEPT.keys()].flatMap(name =>
      faultsOf(name).map(
        (fault): Cell => ({ name: `${name}/${fault}`, expects: 'holds', why: FAULTS[fault] }),
      ),
    ),
    ...[...KEPT_BY_LMDB.keys()].flatMap(name => LMDB_FAULTS.map(fault => lmdbCell(name, fault))),
  ],
  open: ({ library }) => ({
    async run({ name }, trials) {
      const [what = '', fault = ''] = name.split('/');
      if (KEPT_BY_LMDB.has(what))
        return trials.each(async ({ seed, folder }) =>
          fault === 'power'
            ? cutLmdb(what, { library, seed, folder })
            : { ...(await failLmdb(what, { library, seed, folder, fault: fault as LmdbFault })) },
        );
      const kept = await KEPT.get(what)?.(library);
      if (kept === undefined) throw new Error(`No such files: ${what}`);
      try {
        await trials.each(async ({ random }) => ({
          hits: await sweepDisk(kept, { fault: fault as DiskFault, random: random.next }),
        }));
      } finally {
        await kept.close?.();
      }
    },
  }),
  render,
};

function lmdbCell(what: string, fault: DiskFault): Cell {
  const name = `${what}/${fault}`;
  if (MISSING !== undefined) return { name, expects: 'none', why: MISSING };
  // Every failing call needs a separate process, so only two seeds run. For each call, one seed
  // retries it in the same process, and the other seed lets the next process continue.
  const seeds = fault === 'power' ? undefined : 2;
  return { name, expects: 'holds', why: FAULTS[fault], seeds };
}

function render(results: readonly CellResult[]): string {
  const cell = (name: string, fault: DiskFault) => {
    const result = results.find(one => one.cell === `${name}/${fault}`);
    if (result === undefined) return untried(name, fault);
    if (result.expects === 'none') return result.why ?? '';
    const failed = result.failures[0];
    if (failed !== undefined) return `**failed** (seed ${failed.seed}: ${failed.message})`;
    const { hits = 0, crashes = 0 } = result.counts;
    return `${hits.toLocaleString('en')}${crashes === 0 ? '' : ` (${crashes} end the process)`}`;
  };
  const faults = Object.keys(FAULTS) as DiskFault[];
  const rows = [...KEPT.keys(), ...KEPT_BY_LMDB.keys()].map(name => [
    name,
    ...faults.map(fault => cell(name, fault)),
  ]);
  const all = results.reduce((sum, { counts }) => sum + (counts.hits ?? 0), 0);
  return [
    `${all.toLocaleString('en')} faults took effect, each at another call or with another seed; what the files are: [src/storage/README.md](../../src/storage/README.md).`,
    '',
    'Output: the library writes these files and does not read them. Mapped: LMDB reads its file through memory, where no call can fail; the few reads that it does by calls are in the column before. End the process: a call of LMDB that fails while it opens its file, though the library has tried the same just before; nothing that had resolved is lost.',
    '',
    ...table([['files', ...faults.map(fault => FAULTS[fault])], ...rows], 1),
  ].join('\n');
}

function untried(name: string, fault: DiskFault): string {
  if (fault !== 'unreadable') return 'not tried yet';
  if (KEPT_BY_LMDB.has(name)) return 'mapped';
  return faultsOf(name).includes(fault) ? 'not tried yet' : 'output';
}
