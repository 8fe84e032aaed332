import { describe, expect, it, onTestFinished } from 'vitest';
import { MOUNT } from '../../storage/mounted-disk.js';
import { SimulatedDisk, SimulatedFile, seeded } from '../../storage/simulated-disk.js';
import { faultsOf, KEPT } from './all-kept-files.js';
import { THREADED } from './kept-by-sinks.js';
import type { KeptFiles } from './kept-files.js';
import { type DiskFault, sweepDisk } from './sweep-disk.js';

const SRC = new URL('../../../src/', import.meta.url);
/** The faults that this test tries. `npm run faults` also tries all others. */
const SAMPLED: readonly DiskFault[] = ['kill', 'power', 'EIO', 'unreadable'];

/**
 * Returns how many disk calls to try, spread over all calls of a run. Kills are tried at more calls
 * than other faults. `npm run faults -- disks` tries every call.
 */
function callsOf(name: string, fault: DiskFault): number {
  return fault === 'kill' && !THREADED.includes(name) ? 12 : 2;
}

describe.each([...KEPT])('the files of %s after a disk fault', (name, open) => {
  it.each(faultsOf(name).filter(fault => SAMPLED.includes(fault)))(
    'contain the state before or after the interrupted step: %s',
    async fault => {
      const kept = await open(SRC);
      onTestFinished(() => kept.close?.());
      const calls = callsOf(name, fault);
      expect(await sweepDisk(kept, { fault, calls, random: seeded(1) })).toBeGreaterThan(0);
    },
  );

  // The index is skipped, because a lost index is rebuilt without losing data.
  it.skipIf(name === 'index')(
    'are reported as damaged by sweepDisk() if the disk does not sync files',
    async () => {
      const kept = await open(SRC);
      onTestFinished(() => kept.close?.());
      const disk = () => new DiskWithoutSync();
      await expect(
        sweepDisk(kept, { fault: 'power', calls: 4, random: seeded(1), disk }),
      ).rejects.toThrow();
    },
  );
});

describe('sweepDisk(), which tries a fault at each disk call,', () => {
  const file = `${MOUNT}/number`;
  const numbers = (write: KeptFiles['start'], read: KeptFiles['read']): KeptFiles => ({
    name: 'numbers',
    files: [/^number$/],
    start: write,
    read,
  });

  it('fails if a file is overwritten in place', async () => {
    const { open, readFile } = await import('node:fs/promises');
    const write = (text: string) => async () => {
      const handle = await open(file, 'w');
      await handle.writeFile(text);
      await handle.sync();
      await handle.close();
      const folder = await open(MOUNT, 'r');
      await folder.sync();
      await folder.close();
    };
    const inPlace = numbers(
      () => ({ steps: [write('one'), write('two')] }),
      () => readFile(file, 'utf8').catch(() => undefined),
    );
    await expect(sweepDisk(inPlace, { fault: 'power', random: seeded(1) })).rejects.toThrow(
      /numbers, power at call .*: After 0 whole steps, expected undefined or 'one', found/,
    );
  });
});

/** A disk that syncs the names of files but not their content. */
class DiskWithoutSync extends SimulatedDisk {
  override async open(...args: Parameters<SimulatedDisk['open']>) {
    const open = await super.open(...args);
    if (!(this.find(args[0]) instanceof SimulatedFile)) return open;
    return { ...open, sync: async () => {}, datasync: async () => {} };
  }
}
