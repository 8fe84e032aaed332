import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { IncompleteError, StorageError } from '../../src/base/errors.js';
import { foldersVerdict } from '../../src/jobs/download-folder.js';
import { status } from '../http/scripted-server.js';
import { servedFiles, whole } from './job-server.js';
import {
  download,
  expectWhole,
  folder,
  namesIn,
  served,
  serveInstead,
  setUpJobServer,
} from './local-download.js';

setUpJobServer();

describe('jobs.download', () => {
  it('rejects if the folder contains files of another job', async () => {
    await writeFile(path.join(folder, '.millrace-job.json'), '{"job": "another1"}');
    const error = await download().catch(error => error);
    expect(error).toBeInstanceOf(StorageError);
    expect(error.message).toContain('another1');
    expect(served.fetched.size).toBe(0);
  });

  it('rejects while another download writes the same folder, and lets the other download complete', async () => {
    let go = () => {};
    const gate = new Promise<void>(resolve => {
      go = resolve;
    });
    served.faults.set(served.files[2]!.segment, (_, { gzip }) => async (response, request) => {
      await gate;
      await whole(gzip)(response, request);
    });
    const first = download();
    while (!served.fetched.has(served.files[2]!.segment)) await sleep(1);
    const error = await download().catch(error => error);
    expect(error).toBeInstanceOf(StorageError);
    expect(error.message).toContain(`Another download writes to the folder ${folder}: process`);
    go();
    expect(await first).toMatchObject({ exitCode: 0 });
    expect([...served.fetched.values()]).toEqual(Array(12).fill(1));
    await expectWhole();
  });

  it('writes only complete files if several downloads run in one folder at the same time', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 6 }, () => download()));
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeLessThan(6);
    for (const { reason } of refused as PromiseRejectedResult[])
      expect(reason).toBeInstanceOf(StorageError);
    await expectWhole();
  });

  it('unlocks the folder when it rejects', async () => {
    served.faults.set(served.files[4]!.segment, () => status(404));
    await expect(download()).rejects.toBeInstanceOf(IncompleteError);
    await writeFile(path.join(folder, '.millrace-job.json'), '{"job": "another1"}');
    await expect(download()).rejects.toBeInstanceOf(StorageError);
    expect((await namesIn()).filter(name => name.includes('lock'))).toEqual([]);
  });
});

describe('jobs.verdict', () => {
  it('reports files that were missing from the list of one shard', async () => {
    const [complete, short] = [path.join(folder, '1'), path.join(folder, '2')];
    await download({ folder: complete, shard: { index: 1, of: 2 } });
    await serveInstead({
      files: servedFiles(12).slice(0, 10),
      listing: { urlCount: 12 },
    });
    await download({ folder: short, shard: { index: 2, of: 2 }, totals: 'report' });
    for (const folders of [
      [complete, short],
      [short, complete],
    ]) {
      const { exitCode, missing } = await foldersVerdict(folders);
      expect(exitCode).toBe(1);
      expect(missing).toContain('10 of 12 files are listed (urlCount)');
    }
  });
});
