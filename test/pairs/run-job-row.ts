import { readdir, readFile, rm, truncate } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { MillraceError, OptionError } from '../../src/base/errors.js';
import { SEGMENT } from '../../src/base/time.js';
import { type DownloadedFile, downloadJob } from '../../src/jobs/download-job.js';
import type { DeliveredJob } from '../../src/jobs/job.js';
import { listJobs } from '../../src/jobs/job-calls.js';
import type { JobVerdict } from '../../src/jobs/job-verdict.js';
import { runJob } from '../../src/jobs/run-job.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import type { Row } from './covering-rows.js';
import { JOB_END, JOB_FILES, JOB_START, JOB_VALUES } from './job-values.js';
import { acme, NOW, POSTS, RULES, requests, service } from './service-input.js';
import { STOPPED_RUNS } from './suite-rows.js';
import { optionsIn } from './values.js';

const STOPPED = new Error('stopped');
const MAX_RUNS = 4;
const STOPPED_AT = 2;

/**
 * Orders a job and downloads it with the options in `row`. Each call is stopped twice,
 * repeated until it completes, and then made once more.
 */
export async function tryJobRow(row: Row, number: number): Promise<void> {
  const folder = await temporaryFolder();
  try {
    await tryIn(row, `row ${number}-${++rowsRun}`, folder);
  } finally {
    service.faults.clear();
    await rm(folder, { recursive: true, force: true });
  }
}

let rowsRun = 0;

async function tryIn(row: Row, title: string, folder: string): Promise<void> {
  service.clock.set(NOW);
  const isStopped = (stage: string) => row[`${stage}.(stop)`] !== 'none';
  const job = await untilComplete(isStopped('run'), run => order(row, title, run));
  expect(job).toMatchObject({
    status: 'delivered',
    title: expect.stringContaining(title),
    dataFormat: row['run.dataFormat'],
  });
  expect(await order(row, title, 0)).toEqual(job);
  const { jobs } = await listJobs(acme());
  expect(jobs.filter(one => one.title.startsWith(`${title} `))).toHaveLength(1);

  const verdict = await untilComplete(isStopped('download'), async run => {
    if (run === 2) await spoil(row, folder);
    return download(row, job, folder, run);
  });
  await checkFolder(row, folder, verdict);
  const before = requests();
  const seen: DownloadedFile[] = [];
  expect(await download(row, job, folder, 0, file => seen.push(file))).toEqual(verdict);
  expect(seen.every(({ known }) => known)).toBe(true);
  // One request is for the job and one for its list of files. No file is downloaded again.
  expect(requests() - before).toBeLessThanOrEqual(2);
  await checkFolder(row, folder, verdict);
}

/**
 * Calls `jobs.run`. Only the first `STOPPED_RUNS` calls may be stopped.
 * @param run The position of the call, starting at 1. It is 0 for a call that is not stopped.
 */
function order(row: Row, title: string, run: number): Promise<DeliveredJob> {
  const stop = run >= 1 && run <= STOPPED_RUNS ? row['run.(stop)'] : 'none';
  const ending = new AbortController();
  const jobs = { kind: 'status', status: 503, endpoint: 'jobs' } as const;
  if (stop === 'not created') service.faults.plant({ ...jobs, path: '/jobs.json', skip: 1 });
  const decided = () => {
    if (stop === 'decide fails') throw STOPPED;
    if (stop === 'not accepted') service.faults.plant(jobs);
    if (stop === 'status unknown') service.faults.plant({ ...jobs, skip: 1 });
    return true;
  };
  const decide = row['run.decide'] === 'later' ? async () => decided() : decided;
  const { signal, onStatus, decide: _, ...options } = optionsOf(row, 'run');
  const told = () => {
    if (stop === 'abort') ending.abort(STOPPED);
    if (stop === 'onStatus fails') throw STOPPED;
  };
  return runJob(
    acme(),
    unchecked({
      ...{ ...options, title, decide },
      ...(signal !== undefined && { signal: ending.signal }),
      ...(onStatus !== undefined && { onStatus: told }),
    }),
  );
}

function download(
  row: Row,
  job: DeliveredJob,
  folder: string,
  run: number,
  saw: (file: DownloadedFile) => void = () => {},
): Promise<JobVerdict> {
  const { faults } = service;
  const stop = run >= 1 && run <= STOPPED_RUNS ? row['download.(stop)'] : 'none';
  const ending = new AbortController();
  faults.clear();
  if (row['download.(totals)'] === 'wrong')
    faults.plant({ kind: 'wrong-totals', totalFileSizeBytes: 1, times: 'always' });
  if (stop === 'the service fails')
    faults.plant({
      ...{ kind: 'status', status: 503, endpoint: 'job-files', times: 'always' },
      skip: STOPPED_AT,
    });
  const { signal, onFile, ...options } = optionsOf(row, 'download');
  const got = (file: DownloadedFile) => {
    saw(file);
    if (file.done < STOPPED_AT) return;
    if (stop === 'abort') ending.abort(STOPPED);
    if (stop === 'onFile fails') throw STOPPED;
  };
  return downloadJob(
    acme(),
    job,
    unchecked({
      ...{ ...options, folder },
      ...(signal !== undefined && { signal: ending.signal }),
      ...(onFile !== undefined && { onFile: got }),
    }),
  );
}

function optionsOf(row: Row, stage: string): Record<string, unknown> {
  return optionsIn(row, stage, JOB_VALUES, { out: '', run: 1, saw: () => {} });
}

async function untilComplete<T>(mayStop: boolean, call: (run: number) => Promise<T>): Promise<T> {
  for (let run = 1; ; run++) {
    try {
      return await call(run);
    } catch (error) {
      const isFault = error instanceof MillraceError && !(error instanceof OptionError);
      if (!mayStop || run === MAX_RUNS || (error !== STOPPED && !isFault)) throw error;
    }
  }
}

async function spoil(row: Row, folder: string): Promise<void> {
  const [name] = (await readdir(folder, { recursive: true })).filter(one => one.endsWith('.gz'));
  if (name === undefined) return;
  const file = path.join(folder, name);
  if (row['flow.(folder)'] === 'a file is cut') await truncate(file, 60);
  if (row['flow.(folder)'] === 'a file is gone') await rm(file);
}

async function checkFolder(row: Row, folder: string, verdict: JobVerdict): Promise<void> {
  const part = ['1/2', '2/2'].indexOf(row['download.shard'] ?? '');
  const numbers = Array.from({ length: JOB_FILES }, (_, number) => number).filter(
    number => part === -1 || number % 2 === part,
  );
  const names = (await readdir(folder, { recursive: true })).filter(name => name.endsWith('.gz'));
  expect(names).toHaveLength(numbers.length);
  const found = await Promise.all(
    names.toSorted().map(async name => postsIn(await readFile(path.join(folder, name)))),
  );
  const posts = POSTS.filter(({ at }) => at < JOB_END);
  const isTagged = row['run.rules'] === 'with tags';
  expect(found).toEqual(
    numbers.map(number =>
      posts
        .filter(({ at }) => Math.floor((at - JOB_START) / SEGMENT) === number)
        .map(({ id, text }) => {
          const tags = RULES.map(({ tag }) => tag).filter(tag => text.includes(tag));
          return [id, text, ...(isTagged ? tags.toSorted() : tags.map(() => null))];
        }),
    ),
  );
  // The totals describe the whole job, so they are not checked for a shard.
  const isWrong = row['download.(totals)'] === 'wrong' && part === -1;
  const missing = isWrong ? [expect.stringContaining('totalFileSizeBytes')] : [];
  expect(verdict).toMatchObject({ missing, files: { delivered: numbers.length } });
}

function postsIn(gzip: Buffer): unknown[][] {
  return gunzipSync(gzip)
    .toString()
    .split(/\r?\n/)
    .filter(line => line.trim() !== '' && !line.startsWith('{"info"'))
    .map(line => {
      const post = JSON.parse(line) as Record<string, unknown>;
      const gnip = (post.gnip ?? post) as { matching_rules?: { tag: string | null }[] };
      const tags = (gnip.matching_rules ?? []).map(({ tag }) => tag);
      const id = String(post.id_str ?? post.id).replace(/.*[,:]/, '');
      return [id, post.text ?? post.body, ...tags.toSorted()];
    });
}
