import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { downloadJob } from '../../src/jobs/download-job.js';
import { temporaryFolder } from '../temporary-folder.js';
import { type JobServer, type JobServerOptions, jobServer, UUID } from './job-server.js';

export let folder: string;

export let served: JobServer;

export const download = (options: object = {}) =>
  downloadJob(served.account(), UUID, { folder, ...options });

export async function namesIn(at = folder): Promise<string[]> {
  const entries = await readdir(at, { recursive: true, withFileTypes: true });
  return entries
    .filter(entry => entry.isFile())
    .map(entry => path.relative(at, path.join(entry.parentPath, entry.name)))
    .toSorted();
}

export const fileNames = () =>
  served.files.map(({ segment }) => `${segment.slice(0, 8)}/${segment.slice(8)}.json.gz`);

export const expectedNames = () => [
  '.millrace-download.json',
  '.millrace-job.json',
  ...fileNames(),
];

export async function expectWhole(): Promise<void> {
  expect(await namesIn()).toEqual(expectedNames());
  for (const { segment, gzip } of served.files)
    expect(
      await readFile(path.join(folder, segment.slice(0, 8), `${segment.slice(8)}.json.gz`)),
    ).toEqual(gzip);
}

export async function serveInstead(options: JobServerOptions): Promise<void> {
  await served.stop();
  served = await jobServer(options);
}

export function setUpJobServer(): void {
  beforeEach(async () => {
    folder = await temporaryFolder();
    served = await jobServer();
  });
  afterEach(() => served.stop());
}
