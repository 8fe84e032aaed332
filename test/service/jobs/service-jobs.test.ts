import { appendFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../../src/base/time.js';
import type { Archive } from '../../../src/service/archive/archive.js';
import { openSampleArchive } from '../../../src/service/sample/sample-archive.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { NOW } from '../local-service.js';
import { DWELL, localJobs } from './local-jobs.js';

const temporaryJobs = async () =>
  (await readdir(tmpdir())).filter(name =>
    new RegExp(`^millrace-jobs-\\w+-${process.pid}-`).test(name),
  );

describe('a service that restarts with its state folder', () => {
  it('continues every job from its status', async () => {
    const stateFolder = await temporaryFolder();
    const first = await localJobs({ stateFolder });
    const delivered = await first.bring('delivered', { title: 'delivered' });
    const rejected = await first.bring('rejected', { title: 'rejected' });
    const accepted = await first.bring('accepted', { title: 'accepted' });
    const quoted = await first.bring('quoted', { title: 'quoted' });
    const opened = await first.create({ title: 'opened' });
    const uuids = [delivered, rejected, accepted, quoted, opened];
    const jobsBefore = await Promise.all(uuids.map(uuid => first.job(uuid)));
    const listBefore = await first.list();
    const clock = first.service.clock.now();
    const filesBefore = await filesOf((await first.results(delivered)).urlList);
    await first.stop();

    const again = await localJobs({ stateFolder, clock });
    const moved = (value: unknown) =>
      JSON.parse(JSON.stringify(value).replaceAll(first.base, again.base));
    expect(await Promise.all(uuids.map(uuid => again.job(uuid)))).toEqual(moved(jobsBefore));
    expect(await again.list()).toEqual(moved(listBefore));
    expect(await filesOf((await again.results(delivered)).urlList)).toEqual(filesBefore);
    expect((await again.post({ title: 'quoted' })).message).toMatch(
      /There is a job with the title/,
    );
    expect((await again.put(rejected, 'accept')).status).toBe(400);
    expect((await again.put(quoted, 'accept')).status).toBe(200);
    await again.move(4 * DWELL);
    for (const uuid of [accepted, quoted]) {
      expect((await again.job(uuid)).status).toBe('delivered');
      expect((await again.results(uuid)).urlCount).toBe(6);
    }
    expect((await again.job(opened)).status).toBe('quoted');
  });

  it('keeps the decision that it has confirmed, even if others arrived at the same time', async () => {
    const stateFolder = await temporaryFolder();
    const first = await localJobs({ stateFolder });
    const uuids: string[] = [];
    for (const title of ['a', 'b', 'c', 'd']) uuids.push(await first.bring('quoted', { title }));
    const confirmed = await Promise.all(
      uuids.map(async uuid => {
        const decisions = ['accept', 'reject', 'accept', 'reject'];
        const replies = await Promise.all(decisions.map(decision => first.put(uuid, decision)));
        return decisions.filter((_, index) => replies[index]?.status === 200);
      }),
    );
    const clock = first.service.clock.now();
    await first.stop();

    const again = await localJobs({ stateFolder, clock });
    const jobs = await Promise.all(uuids.map(uuid => again.job(uuid)));
    expect(jobs.map(({ status }) => [status.replace(/ed$/, '')])).toEqual(confirmed);
  });

  it('expires the jobs whose expiry passed while the service was stopped', async () => {
    const stateFolder = await temporaryFolder();
    const first = await localJobs({ stateFolder });
    const uuid = await first.bring('delivered');
    await first.stop();
    for (const clock of [NOW + 20 * DAY, NOW]) {
      const again = await localJobs({ stateFolder, clock });
      await again.service.settled();
      const { status, message } = await again.ask(`/jobs/${uuid}.json`);
      expect([status, message]).toEqual([404, expect.stringContaining('expired')]);
      expect((await again.list()).jobs).toEqual([]);
      await again.stop();
    }
    expect(await readdir(join(stateFolder, 'jobs', uuid))).toEqual(['job.json']);
  });

  it('writes the same job files however often it stops while writing them', async () => {
    const fields = {
      fromDate: '202405141955',
      toDate: '202405150105',
      rules: [{ value: 'coffee OR lang:en' }],
    };
    const sample = openSampleArchive({ now: () => NOW });
    const straight = await localJobs({ archive: sample });
    const listing = await straight.results(await straight.bring('delivered', fields));
    expect(listing.urlCount).toBe(32);

    // This archive is slow, so that there is time to stop the service in the middle of a job.
    const archive: Archive = {
      format: 'original',
      search: (...call) => sample.search(...call),
      counts: (...call) => sample.counts(...call),
      async *scan(window, options) {
        for await (const segment of sample.scan(window, options)) {
          if (window.to - window.from > MINUTE) await setTimeout(1, undefined, options);
          yield segment;
        }
      },
      close: () => sample.close(),
    };
    const stateFolder = await temporaryFolder();
    let jobs = await localJobs({ archive, stateFolder });
    const uuid = await jobs.bring('accepted', fields);
    jobs.service.clock.advance(DWELL);
    let stops = 0;
    for (; stops < 6; stops++) {
      await setTimeout(25);
      const clock = jobs.service.clock.now();
      await jobs.stop();
      jobs = await localJobs({ archive, stateFolder, clock });
      expect((await jobs.job(uuid)).status).toBe('running');
    }
    await jobs.move(5 * DWELL);
    expect(jobs.errors).toEqual([]);
    const resumed = await jobs.results(uuid);
    expect(resumed.urlCount).toBe(listing.urlCount);
    expect(await postsOf(resumed.urlList)).toEqual(await postsOf(listing.urlList));
  });

  it('ignores an incomplete last line in the file list of a job', async () => {
    const stateFolder = await temporaryFolder();
    const first = await localJobs({ stateFolder });
    const uuid = await first.bring('delivered');
    await first.stop();
    const folder = join(stateFolder, 'jobs', uuid);
    const lines = (await readFile(join(folder, 'files.jsonl'), 'utf8')).split('\n');
    // Simulates a kill after the third file was written and before its line was added to the list.
    await writeFile(
      join(folder, 'files.jsonl'),
      `${lines.slice(0, 2).join('\n')}\n${lines[2]?.slice(0, 20)}`,
    );
    const job = JSON.parse(await readFile(join(folder, 'job.json'), 'utf8'));
    await writeFile(join(folder, 'job.json'), JSON.stringify({ ...job, status: 'running' }));
    const again = await localJobs({ stateFolder, clock: first.service.clock.now() });
    await again.move(2 * DWELL);
    expect((await again.results(uuid)).urlCount).toBe(6);
    const list = await readFile(join(folder, 'files.jsonl'), 'utf8');
    expect(
      list
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line).segment),
    ).toEqual(lines.slice(0, 6).map(line => JSON.parse(line).segment));
  });

  it('removes only the folder of a job whose first record is incomplete', async () => {
    const stateFolder = await temporaryFolder();
    const folder = join(stateFolder, 'jobs');
    for (const [name, file] of [
      ['abcdefghij', 'job.json.part'],
      ['mine', 'notes.txt'],
      // This folder has a list of files, so its record was complete at some time. Therefore, the
      // folder is kept.
      ['older', 'job.json.part'],
      ['older', 'files.jsonl'],
    ] as const) {
      await mkdir(join(folder, name), { recursive: true });
      await writeFile(join(folder, name, file), '{"uuid":');
    }
    const jobs = await localJobs({ stateFolder });
    expect((await jobs.list()).jobs).toEqual([]);
    await jobs.stop();
    expect((await readdir(folder)).sort()).toEqual(['mine', 'older']);
  });

  it('fails with the name of an unreadable file', async () => {
    const stateFolder = await temporaryFolder();
    const first = await localJobs({ stateFolder });
    const uuid = await first.create();
    await first.stop();
    const path = join(stateFolder, 'jobs', uuid, 'job.json');
    await writeFile(path, '{"uuid":');
    await expect(localJobs({ stateFolder })).rejects.toMatchObject({ code: 'ERR_STORAGE', path });
  });

  it.each([
    '{}',
    'null',
    '7',
    '{"segment":1e99,"posts":1,"bytes":1,"md5":"d41d8cd98f00b204e9800998ecf8427e"}',
    '{"segment":1715766600001,"posts":1,"bytes":1,"md5":"d41d8cd98f00b204e9800998ecf8427e"}',
    '{"segment":1715766600000,"posts":-1,"bytes":1,"md5":"d41d8cd98f00b204e9800998ecf8427e"}',
    '{"segment":1715766600000,"posts":1,"bytes":"1","md5":"d41d8cd98f00b204e9800998ecf8427e"}',
    '{"segment":1715766600000,"posts":1,"bytes":1,"md5":"x"}',
  ])('fails with the name of a file list that it did not write: %s', async line => {
    const stateFolder = await temporaryFolder();
    const first = await localJobs({ stateFolder });
    const uuid = await first.bring('delivered');
    await first.stop();
    const path = join(stateFolder, 'jobs', uuid, 'files.jsonl');
    await appendFile(path, `${line}\n`);
    await expect(localJobs({ stateFolder })).rejects.toMatchObject({
      code: 'ERR_STORAGE',
      path,
      message: expect.stringContaining(`${path} was damaged or changed since the service wrote it`),
    });
  });

  it('locks the state folder', async () => {
    const stateFolder = await temporaryFolder();
    const first = await localJobs({ stateFolder });
    await first.create();
    await expect(localJobs({ stateFolder })).rejects.toMatchObject({
      code: 'ERR_STORAGE',
      message: expect.stringMatching(/^Another service keeps its jobs in /),
    });
    expect((await first.list()).jobs).toHaveLength(1);
    await first.stop();
    expect((await (await localJobs({ stateFolder })).list()).jobs).toHaveLength(1);
  });

  it('counts no job that it could not store, and accepts the title of that job again', async () => {
    const stateFolder = await temporaryFolder();
    const limits = { jobsPerHourRate: { requests: 1, perMs: HOUR } };
    const jobs = await localJobs({ stateFolder, limits });
    const [folder, aside] = [join(stateFolder, 'jobs'), join(stateFolder, 'aside')];
    await rename(folder, aside);
    await writeFile(folder, 'This is not a folder');
    expect((await jobs.post()).status).toBe(500);
    expect(jobs.errors).toEqual([expect.objectContaining({ code: 'ERR_STORAGE' })]);
    expect((await jobs.list()).jobs).toEqual([]);
    await rm(folder);
    await rename(aside, folder);
    expect((await jobs.post()).status).toBe(201);
    expect((await jobs.list()).jobs).toHaveLength(1);
  });

  it('fails with the name of a state folder that it cannot create', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'file'), '');
    await expect(localJobs({ stateFolder: join(folder, 'file') })).rejects.toMatchObject({
      code: 'ERR_STORAGE',
    });
  });
});

describe('a service without a state folder', () => {
  it('keeps jobs in a temporary folder until it stops', async () => {
    const before = await temporaryJobs();
    const jobs = await localJobs();
    await jobs.bring('delivered');
    const made = (await temporaryJobs()).filter(name => !before.includes(name));
    expect(made.length).toBeGreaterThan(0);
    const { service } = jobs;
    await jobs.stop();
    const { historicalUrl } = await service.start();
    expect(historicalUrl).not.toBe(new URL(jobs.base).origin);
    expect(service.listening).toBe(true);
    await service.stop();
    const kept = await temporaryJobs();
    expect(made.some(name => !kept.includes(name))).toBe(true);
  });
});

async function filesOf(urls: readonly string[]): Promise<Buffer[]> {
  const replies = await Promise.all(urls.map(url => fetch(url)));
  expect(replies.every(({ status }) => status === 200)).toBe(true);
  return Promise.all(replies.map(async reply => Buffer.from(await reply.arrayBuffer())));
}

/**
 * Returns the posts in each file, without the ids of rules and without the times in the info lines.
 */
async function postsOf(urls: readonly string[]): Promise<string[][]> {
  const files = await filesOf(urls);
  return files.map(file =>
    gunzipSync(file)
      .toString()
      .replaceAll(/"sent":"[^"]*"/g, '')
      .replaceAll(/"matching_rules":\[.*?\]/g, '')
      .split('\n'),
  );
}
