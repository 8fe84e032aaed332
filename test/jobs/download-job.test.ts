import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { DataError, IncompleteError, OptionError, StorageError } from '../../src/base/errors.js';
import { thisProcess } from '../../src/base/process-identity.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { type DownloadedFile, downloadJob } from '../../src/jobs/download-job.js';
import { activities } from '../../src/operators/activities.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { collect } from '../../src/sinks/collect.js';
import { localFiles } from '../../src/sources/local-files.js';
import { status } from '../http/scripted-server.js';
import { MOUNT, onDisk } from '../storage/mounted-disk.js';
import { SimulatedDisk } from '../storage/simulated-disk.js';
import { largeFile, servedFiles, UUID, whole } from './job-server.js';
import {
  download,
  expectWhole,
  fileNames,
  folder,
  namesIn,
  served,
  serveInstead,
  setUpJobServer,
} from './local-download.js';

setUpJobServer();

describe('jobs.download', () => {
  it.each([1, 4, 16])(
    'writes every file under the name of its time segment, %i at a time',
    async concurrency => {
      const files: DownloadedFile[] = [];
      const verdict = await download({
        concurrency,
        onFile: (file: DownloadedFile) => files.push(file),
      });
      expect(verdict).toMatchObject({ exitCode: 0, missing: [], posts: { delivered: 36 } });
      await expectWhole();
      expect(files.map(file => file.done)).toEqual(Array.from({ length: 12 }, (_, i) => i + 1));
      expect(files.every(file => !file.known && file.total === 12 && file.posts === 3)).toBe(true);
    },
  );

  it('writes a folder whose posts localFiles can read', async () => {
    await download();
    const posts = await pipeline(
      localFiles(folder),
      gunzip(),
      jsonLines(),
      activities(),
      collect(),
    );
    expect(posts.map(post => post.raw.toString())).toEqual(served.lines);
  });

  it('fetches no file again when it is run a second time', async () => {
    const first = await download();
    served.fetched.clear();
    let known = 0;
    const verdict = await download({
      onFile: (file: DownloadedFile) => {
        known += Number(file.known);
      },
    });
    expect(verdict).toEqual(first);
    expect(served.fetched.size).toBe(0);
    expect(known).toBe(12);
  });

  it('fetches only files that are missing or truncated', async () => {
    await download();
    const at = (index: number) => path.join(folder, fileNames()[index]!);
    await rm(at(1));
    await truncate(at(3), 40);
    await truncate(at(5), 0);
    const bytes = await readFile(at(7));
    bytes[bytes.length >> 1]! ^= 1;
    await writeFile(at(7), bytes);
    await rm(at(9));
    await writeFile(`${at(9)}.part`, bytes);
    served.fetched.clear();
    expect(await download()).toMatchObject({ exitCode: 0 });
    expect([...served.fetched.keys()].toSorted()).toEqual(
      [1, 3, 5, 7, 9].map(index => served.files[index]!.segment),
    );
    await expectWhole();
  });

  const downloadOfTwoBroken = async () => {
    served.faults.set(served.files[4]!.segment, () => status(404));
    served.faults.set(served.files[6]!.segment, (_, { gzip }) => whole(gzip.subarray(0, -9)));
    const error = await download().catch(error => error);
    served.faults.clear();
    return error;
  };

  it('names a missing file and a damaged file in its error', async () => {
    const error = await downloadOfTwoBroken();
    expect(error).toBeInstanceOf(IncompleteError);
    expect(error.missing).toEqual([served.files[4]!.segment, served.files[6]!.segment]);
  });

  it('writes all files that are neither missing nor damaged before it rejects', async () => {
    await downloadOfTwoBroken();
    expect((await namesIn()).filter(name => name.endsWith('.gz')).length).toBe(10);
  });

  it('writes in a second run only the files that were missing or damaged', async () => {
    await downloadOfTwoBroken();
    expect(await download()).toMatchObject({ exitCode: 0 });
    await expectWhole();
  });

  it('fetches a large file again if it has a damaged line', async () => {
    const damaged = largeFile(6_000_000, ['{"id":1']);
    const { segment } = served.files[4]!;
    served.faults.set(segment, before => (before < 2 ? whole(damaged) : undefined));
    expect(await download()).toMatchObject({ exitCode: 0 });
    expect(served.fetched.get(segment)).toBe(3);
    await expectWhole();
  });

  it('names a large file and its damage in the error if the file stays damaged', async () => {
    const damaged = largeFile(6_000_000, ['{"id":1']);
    served.faults.set(served.files[4]!.segment, () => whole(damaged));
    const error = await download().catch(error => error);
    expect(error).toBeInstanceOf(IncompleteError);
    expect(error.cause).toBeInstanceOf(DataError);
    expect(error.message).toContain('Expected a JSON object on each line');
    expect(error.missing).toEqual([served.files[4]!.segment]);
  });

  it('fetches a large file again if its copy in the folder has a damaged line', async () => {
    await download();
    const file = path.join(folder, fileNames()[2]!);
    await writeFile(file, largeFile(6_000_000, ['{"id":1']));
    served.fetched.clear();
    expect(await download()).toMatchObject({ exitCode: 0 });
    expect([...served.fetched.keys()]).toEqual([served.files[2]!.segment]);
    await expectWhole();
  });

  it('checks the bytes on disk before it renames a file', async () => {
    const { segment, gzip } = served.files[4]!;
    const part = path.join(folder, `${fileNames()[4]}.part`);
    const half = gzip.length >> 1;
    served.faults.set(segment, before =>
      before > 0
        ? undefined
        : async response => {
            response.setHeader('content-length', gzip.length);
            response.write(gzip.subarray(0, half));
            // Another process truncates the file, so that the next write leaves a hole in it.
            while ((await stat(part).catch(() => undefined))?.size !== half) await sleep(1);
            await truncate(part, 0);
            response.end(gzip.subarray(half));
          },
    );
    expect(await download()).toMatchObject({ exitCode: 0 });
    expect(served.fetched.get(segment)).toBe(2);
    await expectWhole();
  });

  it('retries a failed file after it has fetched all others', async () => {
    const late = served.files[2]!.segment;
    served.faults.set(late, before => (before < 6 ? status(404) : undefined));
    const order: string[] = [];
    const verdict = await download({
      concurrency: 1,
      onFile: ({ path: file }: DownloadedFile) => order.push(path.relative(folder, file)),
    });
    expect(verdict).toMatchObject({ exitCode: 0, missing: [] });
    const names = fileNames();
    expect(order).toEqual([...names.toSpliced(2, 1), names[2]]);
    await expectWhole();
  });

  it('rejects early if every file fails', async () => {
    await serveInstead({ files: servedFiles(72) });
    for (const { segment } of served.files) served.faults.set(segment, () => status(404));
    const error = await download().catch(error => error);
    expect(error.missing.length).toBe(72);
    expect(served.fetched.size).toBeLessThan(30);
  });

  it('requests new URLs when the old URLs expire', async () => {
    served.faults.set(served.files[5]!.segment, () => {
      served.expired = Math.max(served.expired, 1);
      return undefined;
    });
    expect(await download({ concurrency: 1 })).toMatchObject({ exitCode: 0 });
    expect(served.listings).toBe(2);
  });

  it("rejects if the totals differ, unless `totals` is 'report'", async () => {
    await serveInstead({ results: { activityCount: 35 } });
    await expect(download()).rejects.toMatchObject({
      code: 'ERR_INCOMPLETE',
      missing: ['36 of 35 posts (activityCount)'],
    });
    expect(await download({ totals: 'report' })).toMatchObject({ exitCode: 1 });
  });

  it('renames no file after another process has taken over its lock', async () => {
    const { segment } = served.files[0]!;
    served.faults.set(segment, (_, { gzip }) => async (response, request) => {
      // Another process takes the lock during the transfer.
      const names = await readdir(folder);
      const lock = path.join(folder, names.find(name => name.endsWith('.lock'))!);
      await rm(lock);
      await writeFile(lock, JSON.stringify({ ...thisProcess(), token: 'of another' }));
      await whole(gzip)(response, request);
    });
    const error = await download({ concurrency: 1 }).catch(error => error);
    expect(String(error.cause?.message ?? error.message)).toMatch(/took .* over/);
    expect((await namesIn()).filter(name => name.endsWith('.json.gz'))).toEqual([]);
  });

  it.each([1, 12])('rejects with the error that `onFile` throws, at file %i', async nth => {
    const failure = new Error('no room in the database');
    const onFile = ({ done }: DownloadedFile) => {
      if (done === nth) throw failure;
    };
    await expect(download({ onFile, concurrency: 1 })).rejects.toBe(failure);
    expect(served.fetched.size).toBe(nth);
    expect(await download()).toMatchObject({ exitCode: 0 });
    await expectWhole();
  });

  it('rejects with the error of the promise of `onFile`, without an unhandled rejection', async () => {
    const failure = new Error('no room in the database');
    const onFile = async () => {
      await sleep(1);
      throw failure;
    };
    await expect(download({ onFile })).rejects.toBe(failure);
    expect((await namesIn()).filter(name => name.includes('lock'))).toEqual([]);
  });

  it('ends with the error that `onFile` throws, even if an earlier file still arrives', async () => {
    const failure = new Error('no room in the database');
    const { segment, gzip } = served.files[0]!;
    // Without the error, this file would be complete once all others were requested.
    served.faults.set(segment, () => async response => {
      response.setHeader('content-length', gzip.length);
      response.write(gzip.subarray(0, 20));
      while (!response.closed && served.fetched.size < served.files.length) await sleep(1);
      response.end(gzip.subarray(20));
    });
    const onFile = () => {
      throw failure;
    };
    await expect(download({ onFile, concurrency: 2 })).rejects.toBe(failure);
    expect(served.fetched.size).toBeLessThan(served.files.length);
  });

  it('rejects if it cannot write the record of a complete download', async () => {
    const record = path.join(folder, '.millrace-download.json.part');
    await mkdir(path.join(record, 'x'), { recursive: true });
    await expect(download()).rejects.toBeInstanceOf(StorageError);
    expect((await namesIn()).filter(name => name.endsWith('.gz')).length).toBe(12);
  });

  it('names the folder in its error if it cannot write to it', async () => {
    await mkdir(path.join(folder, '20240101', '0000.json.gz.part'), { recursive: true });
    const error = await download().catch(error => error);
    expect(error).toBeInstanceOf(IncompleteError);
    expect(error.cause).toBeInstanceOf(StorageError);
    expect(error.message).toContain('0000.json.gz');
  });

  it.skipIf(process.platform === 'win32')(
    'rejects without blocking if a pipe has the name of a file',
    async () => {
      const pipe = path.join(folder, fileNames()[1]!);
      await mkdir(path.dirname(pipe), { recursive: true });
      execFileSync('mkfifo', [pipe]);
      const error = await download().catch(error => error);
      expect(error).toBeInstanceOf(IncompleteError);
      expect(error.cause).toBeInstanceOf(StorageError);
      expect(error.message).toContain(`${pipe} is not a regular file`);
    },
  );

  const abortedDownload = async () => {
    served.faults.set(served.files[8]!.segment, () => () => {});
    const abort = new AbortController();
    setTimeout(() => abort.abort('enough'), 100);
    const reason = await download({ signal: abort.signal }).catch(thrown => thrown);
    served.faults.clear();
    return reason;
  };

  it('syncs the folder of a file left by a killed download before it records the file', async () => {
    await serveInstead({ files: servedFiles(1) });
    const disk = new SimulatedDisk();
    // This file keeps the root folder of the simulated disk after the power cut.
    disk.put(`${MOUNT}/other`, Buffer.alloc(0));
    const to = `${MOUNT}/archive`;
    const run = () => onDisk(disk, () => downloadJob(served.account(), UUID, { folder: to }));
    disk.before = (call, file) => {
      // The download is killed right after the file is renamed.
      if (call.startsWith('rename') && file.endsWith('.json.gz.part')) disk.cutAt = disk.calls + 1;
    };
    await expect(run()).rejects.toThrow();
    disk.before = () => {};
    disk.keepAll();
    const [name] = fileNames();
    expect(disk.files()).toContain(`${to}/${name}`);
    let isKnown = false;
    await onDisk(disk, () =>
      downloadJob(served.account(), UUID, {
        folder: to,
        onFile: ({ known }) => {
          isKnown = known;
        },
      }),
    );
    expect(isKnown).toBe(true);
    // The power cut removes everything that is not synced.
    disk.restart(() => 0);
    expect(disk.files()).toContain(`${to}/.millrace-download.json`);
    expect(disk.files()).toContain(`${to}/${name}`);
  });

  it('rejects with the reason of an abort', async () => {
    expect(await abortedDownload()).toBe('enough');
  });

  it('continues after an abort', async () => {
    await abortedDownload();
    expect(await download()).toMatchObject({ exitCode: 0 });
    await expectWhole();
  });

  it('never writes to a path that a URL of the service contains', async () => {
    const { otherwise } = served.server;
    const evil = [
      ...['.', '..', '%2e%2e', '...', '%2F..%2F..%2Fetc%2Fpasswd', '..%5c..%5c', '%252e%252e%252f'],
      ...['C:', 'a\\b', 'CON', 'NUL.gz', '.millrace-job.json', '.millrace-download.json', '%00'],
      ...['~', '~root', '-rf', '$HOME', 'a%0Ab', '%E2%80%AE'],
    ];
    expect(evil.length).toBe(20);
    served.server.otherwise = (response, request) => {
      if (request.url.startsWith('/evil')) return whole(served.files[0]!.gzip)(response, request);
      if (!request.url.includes('results.json')) return otherwise(response, request);
      const urlList = evil.map(
        (name, index) => `${served.server.url}/evil/x${name}/${name}?n=${index}-${name}`,
      );
      return void response.end(JSON.stringify({ urlCount: evil.length, urlList }));
    };
    await download({ totals: 'report' });
    expect(await namesIn()).toEqual([
      '.millrace-download.json',
      '.millrace-job.json',
      ...evil.map((_, index) => `files/${String(index + 1).padStart(6, '0')}.json.gz`),
    ]);
  });

  it('sends no request if `folder` is missing', async () => {
    await expect(downloadJob(served.account(), UUID, { folder: '' })).rejects.toBeInstanceOf(
      OptionError,
    );
    expect(served.server.received).toEqual([]);
  });
});
