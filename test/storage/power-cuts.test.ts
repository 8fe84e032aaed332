import { appendFile, mkdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { ConnectLog, replayFolder } from '../../src/replay/connect-log.js';
import { JobStore } from '../../src/service/jobs/job-store.js';
import { StreamRules } from '../../src/service/replay/stream-rules.js';
import { NonceFile, Nonces } from '../../src/service/users/nonces.js';
import { prepareTokenFile } from '../../src/users/sign-in.js';
import { unchecked } from '../unchecked.js';
import { MOUNT, onDisk, storedFiles } from './mounted-disk.js';
import { nodeError, SimulatedDisk } from './simulated-disk.js';

const STATE = `${MOUNT}/state`;
const CLOCK = unchecked({ now: () => Date.UTC(2024, 0, 1) });
const START = Date.UTC(2024, 0, 1);
const NOTHING = () => 0;

function newDisk(): SimulatedDisk {
  const disk = new SimulatedDisk();
  disk.put(`${MOUNT}/there`, Buffer.alloc(0));
  return disk;
}

function powerCut(disk: SimulatedDisk): SimulatedDisk {
  const left = disk.copy();
  left.restart(NOTHING);
  return left;
}

const namesOn = (disk: SimulatedDisk) => onDisk(disk, () => [...storedFiles().keys()]);
const job = {
  uuid: 'abc1234567',
  number: 1,
  title: 'a job',
  format: 'original' as const,
  from: START,
  to: START + 600_000,
  status: 'running' as const,
  since: START,
  rules: [],
  requestedBy: 'me',
  requestedAt: START,
};
const file = { segment: START, posts: 1, bytes: 10, md5: '0'.repeat(32) };

describe('a power cut of the simulated disk', () => {
  it('does not remove the new folder of replay rules that the service has confirmed', async () => {
    const disk = newDisk();
    await onDisk(disk, () => new StreamRules(STATE, CLOCK).add([{ value: 'tea', tag: null }]));
    expect(namesOn(powerCut(disk))).toContain('state/stream-rules/rules.json');
  });

  it('does not remove the folder of stored tokens', async () => {
    const disk = newDisk();
    await onDisk(disk, () => prepareTokenFile(`${MOUNT}/a/b/tokens.json`));
    expect(powerCut(disk).find(`${MOUNT}/a/b`)).toBeDefined();
  });

  it('does not remove the stored time of a replay connection', async () => {
    const disk = newDisk();
    await onDisk(disk, async () => {
      await new ConnectLog(await replayFolder(`${MOUNT}/replays`), 'acme').add(START);
    });
    const log = new ConnectLog(`${MOUNT}/replays`, 'acme');
    expect(await onDisk(powerCut(disk), () => log.read())).toEqual([START]);
  });

  it('does not remove the file list of a delivered job', async () => {
    const disk = newDisk();
    await onDisk(disk, async () => {
      const store = new JobStore(STATE);
      await store.save(job);
      await store.addFile(job, file);
      await store.save({ ...job, status: 'delivered' });
    });
    const left = powerCut(disk);
    const [found] = await onDisk(left, () => new JobStore(STATE).load());
    expect(found).toMatchObject({ job: { status: 'delivered' }, files: [file] });
  });

  it('does not remove a line of the file list that a restarted service has read', async () => {
    const disk = newDisk();
    await onDisk(disk, async () => {
      const store = new JobStore(STATE);
      await store.save(job);
      await store.close();
      await appendFile(`${STATE}/jobs/${job.uuid}/files.jsonl`, `${JSON.stringify(file)}\n`);
      await new JobStore(STATE).load();
    });
    expect(powerCut(disk).read(`${STATE}/jobs/${job.uuid}/files.jsonl`).length).toBeGreaterThan(0);
  });
});

describe('a partial line that a crash left', () => {
  it('in the connection times does not damage later times', async () => {
    const disk = newDisk();
    const log = new ConnectLog(`${MOUNT}/replays`, 'acme');
    await onDisk(disk, async () => {
      await replayFolder(`${MOUNT}/replays`);
      await log.add(START);
      const [name] = storedFiles().keys();
      await appendFile(`${MOUNT}/${name}`, '2024-01-01T00:0');
      await log.add(START + 1000);
    });
    expect(await onDisk(disk, () => log.read())).toEqual([START, START + 1000]);
  });

  it.each([
    ['its beginning', '[1704067200,"ab'],
    ['its end', '\0\0\0\0\0\0cd"]\n'],
  ])('in the nonce file is removed before the next nonce is written: %s', async (_, part) => {
    const disk = newDisk();
    const nonces = new Nonces();
    const use = (nonce: string) => nonces.use('app', START, nonce) ?? [0, ''];
    const read = await onDisk(disk, async () => {
      await mkdir(`${STATE}/oauth`, { recursive: true });
      await new NonceFile(STATE).add(use('a'), nonces);
      await appendFile(`${STATE}/oauth/nonces.jsonl`, part);
      const next = new NonceFile(STATE);
      expect(await next.load()).toHaveLength(1);
      await next.add(use('b'), nonces);
      return new NonceFile(STATE).load();
    });
    expect(read).toHaveLength(2);
  });

  it('in the nonce file, caused by a full disk, is removed before the next nonce is written', async () => {
    const disk = newDisk();
    const nonces = new Nonces();
    const use = (nonce: string) => nonces.use('app', START, nonce) ?? [0, ''];
    const file = new NonceFile(STATE);
    await onDisk(disk, () => file.add(use('a'), nonces));
    disk.before = call => {
      if (call === 'write') throw nodeError('ENOSPC', 'write');
    };
    await expect(onDisk(disk, () => file.add(use('b'), nonces))).rejects.toMatchObject({
      code: 'ERR_STORAGE',
    });
    disk.before = () => {};
    await onDisk(disk, () => file.add(use('c'), nonces));
    expect(await onDisk(disk, () => new NonceFile(STATE).load())).toHaveLength(2);
  });
});

describe('a disk error that occurs only once', () => {
  it('does not prevent the replay rules from being opened later in the same process', async () => {
    const disk = newDisk();
    const rules = new StreamRules(STATE, CLOCK);
    disk.before = call => {
      if (call === 'readFile') throw nodeError('EIO', 'readFile');
    };
    await expect(onDisk(disk, () => rules.open())).rejects.toMatchObject({ code: 'ERR_STORAGE' });
    disk.before = () => {};
    await onDisk(disk, () => rules.open());
    expect(rules.all()).toEqual([]);
  });
});
