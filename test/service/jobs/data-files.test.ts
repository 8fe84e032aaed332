import { createHash } from 'node:crypto';
import { readdir, truncate } from 'node:fs/promises';
import http from 'node:http';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { DAY, formatSent, HOUR, MINUTE, parseTimestamp, SECOND } from '../../../src/base/time.js';
import { Activity, type Format } from '../../../src/post/activity.js';
import { compileRules } from '../../../src/rules/index/compile-rules.js';
import { createDataUrls } from '../../../src/service/jobs/data-files.js';
import { openSampleArchive } from '../../../src/service/sample/sample-archive.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { AUTHORIZATION, NOW } from '../local-service.js';
import { DWELL, type LocalJobs, localJobs } from './local-jobs.js';

interface Download {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

async function download(url: string, headers: Record<string, string> = {}): Promise<Download> {
  const response = await fetch(url, { headers });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, bytes };
}

function linesOf(bytes: Uint8Array): string[] {
  return gunzipSync(bytes).toString().split('\n');
}

const infoOf = (line: string | undefined) => JSON.parse(line ?? '').info;

async function delivered(jobs: LocalJobs, fields?: Record<string, unknown>) {
  const uuid = await jobs.bring('delivered', fields);
  const listing = await jobs.results(uuid);
  const files = await Promise.all(listing.urlList.map(url => download(url)));
  return { uuid, job: await jobs.job(uuid), listing, files };
}

describe('the results of a job in the local service', () => {
  it('list one file for each ten minutes that contain posts, in order of time', async () => {
    const jobs = await localJobs();
    const { listing, files } = await delivered(jobs, {
      fromDate: '202405150834',
      toDate: '202405150959',
      rules: [{ value: 'tea' }],
    });
    // The first post was created at 09:34.
    const names = listing.urlList.map(
      url => /\d{4}\/\d\d\/\d\d\/\d\d\/\d\d_activities/.exec(url)?.[0],
    );
    expect(names).toEqual([
      '2024/05/15/09/30_activities',
      '2024/05/15/09/40_activities',
      '2024/05/15/09/50_activities',
    ]);
    const minutes = files.map(({ bytes }) =>
      linesOf(bytes)
        .slice(0, -1)
        .map(line => new Activity(Buffer.from(line)).postedAt.getUTCMinutes()),
    );
    expect(minutes).toEqual([
      [34, 35, 36, 37, 38, 39],
      [40, 41, 42, 43, 44, 45, 46, 47, 48, 49],
      [50, 51, 52, 53, 54, 55, 56, 57, 58],
    ]);
  });

  it('list at most 6 files for an hour', async () => {
    const jobs = await localJobs();
    const fields = { fromDate: '202405151000', toDate: '202405151100', rules: [{ value: 'tea' }] };
    expect((await delivered(jobs, fields)).listing.urlCount).toBe(6);
  });

  it('have the same totals in the list, in the job and in the files', async () => {
    const jobs = await localJobs();
    const { job, listing, files } = await delivered(jobs);
    const bytes = files.reduce((sum, file) => sum + file.bytes.length, 0);
    const posts = files.reduce((sum, file) => sum + linesOf(file.bytes).length - 1, 0);
    expect(listing).toEqual({
      urlCount: files.length,
      urlList: expect.any(Array),
      totalFileSizeBytes: bytes,
      expiresAt: job.results?.expiresAt,
    });
    expect(job.results).toMatchObject({
      activityCount: posts,
      fileCount: files.length,
      fileSizeMb: Math.round(bytes / 100) / 10_000,
    });
    expect((await jobs.list()).delivered.activityCount).toBe(posts);
  });

  it('are also available as tab-separated file names and URLs', async () => {
    const jobs = await localJobs();
    const { uuid, listing } = await delivered(jobs);
    const reply = await jobs.ask(`/jobs/${uuid}/results.csv`);
    expect(reply.headers.get('content-type')).toMatch(/^text\/csv/);
    const lines = reply.text.split('\n');
    expect(lines.pop()).toBe('');
    expect(lines.map(line => line.split('\t'))).toEqual(
      listing.urlList.map((url, i) => [
        `20240515-20240515_${uuid}_2024_05_15_${['09_30', '09_40', '09_50', '10_00', '10_10', '10_20'][i]}_activities.json.gz`,
        url,
      ]),
    );
  });

  it('are not found until the job is delivered', async () => {
    const jobs = await localJobs();
    const uuid = await jobs.bring('quoted');
    for (const rest of ['results.json', 'results.csv', 'suspectMinutes.json'])
      expect(await jobs.ask(`/jobs/${uuid}/${rest}`)).toMatchObject({
        status: 404,
        message: expect.stringContaining("has no results; its status is 'quoted'"),
      });
  });

  it('are an empty list if no post matches', async () => {
    const jobs = await localJobs();
    const { job, listing } = await delivered(jobs, { rules: [{ value: 'cocoa' }] });
    expect(listing).toMatchObject({ urlCount: 0, urlList: [], totalFileSizeBytes: 0 });
    expect(job.results).toMatchObject({ activityCount: 0, fileCount: 0, fileSizeMb: 0 });
    expect((await jobs.ask(`/jobs/${job.jobURL.slice(-15, -5)}/results.csv`)).text).toBe('');
  });

  it('contain the URL of the suspect minutes if there are any', async () => {
    const jobs = await localJobs();
    const minutes = ['202405150935', '202405151000', '202405151034'];
    jobs.service.faults.plant({ kind: 'suspect-minutes', minutes, title: 'small' });
    const { uuid, listing } = await delivered(jobs);
    expect(listing.suspectMinutesURL).toBe(`${jobs.base}/jobs/${uuid}/suspectMinutes.json`);
    const reply = await jobs.ask(String(listing.suspectMinutesURL));
    expect(reply.status).toBe(200);
    // The third suspect minute is outside the time range of the job.
    expect(JSON.parse(reply.text)).toEqual({ suspectMinutes: minutes.slice(0, 2) });
    const other = await delivered(jobs, { title: 'other' });
    expect(other.listing).not.toHaveProperty('suspectMinutesURL');
    expect((await jobs.ask(`/jobs/${other.uuid}/suspectMinutes.json`)).status).toBe(404);
  });
});

describe('a job file of the local service', () => {
  it('contains one post per line, with all matching rules of the post, compressed with gzip', async () => {
    const jobs = await localJobs();
    const made = await jobs.post({
      rules: [
        { value: 'coffee', tag: 'drinks' },
        { value: 'tea' },
        { value: 'cocoa', tag: 'none' },
      ],
    });
    const [coffee, tea] = [...made.text.matchAll(/"id":(\d+)/g)].map(([, id]) => String(id));
    await jobs.move(2 * DWELL);
    const uuid = /jobs\/(\w+)\.json/.exec(made.text)?.[1] ?? '';
    await jobs.put(uuid, 'accept');
    await jobs.move(3 * DWELL);
    const [url = ''] = (await jobs.results(uuid)).urlList;
    const { headers, bytes } = await download(url);
    expect(headers.get('content-type')).toBe('application/gzip');
    expect(headers.get('content-encoding')).toBe(null);
    const [first = '', second = ''] = linesOf(bytes);
    expect(
      first.endsWith(
        `"matching_rules":[{"tag":"drinks","id":${coffee},"id_str":"${coffee}"},{"tag":null,"id":${tea},"id_str":"${tea}"}]}`,
      ),
    ).toBe(true);
    expect(new Activity(Buffer.from(second)).matchingRules).toEqual([{ tag: null, id: tea }]);
  });

  it('ends with an info line that states its number of posts, unless an option omits the line', async () => {
    const jobs = await localJobs();
    for (const { bytes } of (await delivered(jobs, { rules: [{ value: 'tea' }] })).files) {
      const lines = linesOf(bytes);
      expect(infoOf(lines.at(-1))).toEqual({
        message: 'Replay Request Completed',
        sent: formatSent(NOW + 3 * DWELL),
        activity_count: lines.length - 1,
      });
    }
    const without = await localJobs({ jobInfoLine: false });
    for (const { bytes } of (await delivered(without)).files) {
      const lines = linesOf(bytes);
      expect(lines.pop()).toBe('');
      expect(lines.every(line => 'created_at' in JSON.parse(line))).toBe(true);
    }
  });

  it.each(['original', 'activity_streams'] as const)(
    'contains exactly the matching posts of the archive, in %s',
    async format => {
      // This test uses the generated archive, which has posts of both formats.
      const jobs = await localJobs({ archive: undefined });
      const value = 'coffee OR (lang:es -is:retweet)';
      const [fromDate, toDate] = ['202404302257', '202405010103'];
      const fields = { dataFormat: format, fromDate, toDate, rules: [{ value }] };
      const { files } = await delivered(jobs, fields);
      expect(idsOf(files)).toEqual(await idsOfArchive(format, value, fromDate, toDate));
      const [line = ''] = linesOf(files[0]?.bytes ?? Buffer.alloc(0));
      expect(new Activity(Buffer.from(line)).format).toBe(format);
      expect(new Activity(Buffer.from(line)).matchingRules).toHaveLength(1);
    },
  );

  it('is sent with a Content-Length', async () => {
    const { files } = await delivered(await localJobs());
    for (const { headers, bytes } of files)
      expect(headers.get('content-length')).toBe(String(bytes.length));
  });

  it('is sent with the MD5 of its bytes as a strong ETag', async () => {
    const { files } = await delivered(await localJobs());
    for (const { headers, bytes } of files)
      expect(headers.get('etag')).toBe(`"${createHash('md5').update(bytes).digest('hex')}"`);
  });

  it('supports HEAD and ranges', async () => {
    const jobs = await localJobs();
    const { listing, files } = await delivered(jobs);
    const [url = ''] = listing.urlList;
    const bytes = files[0]?.bytes ?? Buffer.alloc(0);
    const head = await fetch(url, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, `${bytes.length}`]);
    expect(head.headers.get('accept-ranges')).toBe('bytes');

    const etag = String(head.headers.get('etag'));
    const size = bytes.length;
    for (const [range, from, to] of [
      ['bytes=0-9', 0, 10],
      ['bytes=10-', 10, size],
      ['bytes=-5', size - 5, size],
      [`bytes=5-${size + 100}`, 5, size],
      [`bytes=-${size + 5}`, 0, size],
    ] as const) {
      const part = await download(url, { range, 'if-range': etag });
      expect([part.status, part.headers.get('content-range')]).toEqual([
        206,
        `bytes ${from}-${to - 1}/${size}`,
      ]);
      expect(part.bytes).toEqual(bytes.subarray(from, to));
    }
    // If the ETag differs, or if several ranges are requested, the service sends the whole file.
    expect((await download(url, { range: 'bytes=0-9', 'if-range': '"x"' })).bytes).toEqual(bytes);
    expect((await download(url, { range: 'bytes=0-1,3-4' })).bytes).toEqual(bytes);
    for (const range of [`bytes=${size}-`, 'bytes=9-3', 'bytes=-0'])
      expect((await download(url, { range })).status).toBe(416);
  });

  it('counts its posts in the request log only if it is sent whole', async () => {
    const jobs = await localJobs();
    const { listing } = await delivered(jobs);
    const [url = ''] = listing.urlList;
    const after = jobs.service.requests().at(-1)?.number;
    await fetch(url, { method: 'HEAD' });
    await download(url, { range: 'bytes=0-9' });
    await download(url);
    const logged = jobs.service.requests({ after });
    expect(logged.map(({ posts }) => posts)).toEqual([undefined, undefined, 1]);
  });

  it('is read from disk for each download, even if it has become shorter on disk', async () => {
    const stateFolder = await temporaryFolder();
    const jobs = await localJobs({ stateFolder });
    const { listing } = await delivered(jobs);
    const [url = ''] = listing.urlList;
    const names = await readdir(join(stateFolder, 'jobs'), { recursive: true });
    for (const name of names)
      if (name.endsWith('.json.gz')) await truncate(join(stateFolder, 'jobs', name));
    const whole = await download(url);
    expect([whole.status, whole.headers.get('content-length')]).toEqual([200, '0']);
    expect(whole.bytes.length).toBe(0);
    expect((await download(url, { range: 'bytes=0-9' })).status).toBe(416);
    expect(jobs.errors).toEqual([]);
  });

  it('is served from a second origin, which ignores HTTP Basic credentials and rejects others', async () => {
    const jobs = await localJobs();
    const { listing } = await delivered(jobs);
    const [url = ''] = listing.urlList;
    expect(new URL(url).origin).not.toBe(new URL(jobs.base).origin);
    const plain = await download(url);
    expect(await download(url, { authorization: AUTHORIZATION })).toMatchObject({
      status: 200,
      bytes: plain.bytes,
    });
    expect((await download(url, { authorization: 'Bearer x' })).status).toBe(400);
    const { pathname, search } = new URL(url);
    expect((await jobs.ask(new URL(pathname + search, jobs.base).href)).status).toBe(404);
  });

  it('is not served at an altered URL', async () => {
    const jobs = await localJobs();
    const { listing } = await delivered(jobs);
    const [url = '', next = ''] = listing.urlList;
    const expires = /Expires=(\d+)/.exec(url)?.[1] ?? '';
    const { search } = new URL(next);
    for (const wrong of [
      url.replace('09/30', '09/40'),
      url.replace(expires, String(Number(expires) + 1)),
      url.replace(/Signature=./, match => `Signature=${match.endsWith('A') ? 'B' : 'A'}`),
      url.replace(/&Signature=.*/, ''),
      url.replace(/\?.*/, ''),
      url.replace(/\?.*/, search),
    ])
      expect((await download(wrong)).status).toBe(403);
    expect((await fetch(url.replace(/snapshots.*/, ''))).status).toBe(404);
    expect((await fetch(url, { method: 'POST' })).status).toBe(405);
  });

  it('is not found at a signed URL for minutes that no file has', async () => {
    const jobs = await localJobs({ seed: 'known' });
    const { listing } = await delivered(jobs);
    const { origin, pathname } = new URL(listing.urlList[0] as string);
    const urls = createDataUrls('known', 'local');
    const signed = (path: string) => `${origin}${urls.sign(path, NOW + DAY)}`;
    expect((await download(signed(pathname))).status).toBe(200);
    for (const minute of ['31', '3', 'xx', '%33%30'])
      expect(
        (await download(signed(pathname.replace('/30_activities', `/${minute}_activities`))))
          .status,
      ).toBe(404);
  });

  it('is available until its URL expires, and then at the URL of a new list', async () => {
    const jobs = await localJobs({ fileUrlMs: HOUR });
    const { uuid, listing } = await delivered(jobs);
    const [url = ''] = listing.urlList;
    expect(Date.parse(listing.expiresAt)).toBe(
      Math.floor((NOW + 5 * DWELL + HOUR) / SECOND) * SECOND,
    );
    await jobs.move(HOUR - SECOND);
    expect((await download(url)).status).toBe(200);
    await jobs.move(SECOND);
    expect((await download(url)).status).toBe(403);
    const [again = ''] = (await jobs.results(uuid)).urlList;
    expect((await download(again)).status).toBe(200);
    // The address of a file expires at the same time as its job or earlier.
    await jobs.move(15 * DAY - HOUR - 10 * MINUTE);
    const last = await jobs.results(uuid);
    expect(last.expiresAt).toBe((await jobs.job(uuid)).results?.expiresAt);
  });

  it('can be downloaded concurrently', async () => {
    const jobs = await localJobs();
    const { listing, files } = await delivered(jobs, { rules: [{ value: 'tea' }] });
    const urls = Array.from({ length: 20 }, () => listing.urlList).flat();
    const all = await Promise.all(urls.map(url => download(url)));
    for (const [i, { bytes }] of all.entries())
      expect(bytes).toEqual(files[i % files.length]?.bytes);
  });

  it('is no longer read from disk when the client disconnects', async () => {
    const jobs = await localJobs();
    const { listing } = await delivered(jobs, { rules: [{ value: 'tea' }] });
    const [url = ''] = listing.urlList;
    jobs.service.faults.plant({ kind: 'stall', endpoint: 'job-files', afterBytes: 100 });
    await new Promise<void>(resolve => {
      const request = http.get(url, response => response.once('data', () => request.destroy()));
      request.on('close', resolve);
    });
    expect((await download(url)).status).toBe(200);
  });
});

function idsOf(files: readonly Download[]): string[] {
  return files.flatMap(({ bytes }) =>
    linesOf(bytes)
      .slice(0, -1)
      .map(line => new Activity(Buffer.from(line)).id),
  );
}

async function idsOfArchive(format: Format, value: string, from: string, to: string) {
  const archive = openSampleArchive({ now: () => NOW, format });
  const matcher = compileRules([{ value }]);
  const ids: string[] = [];
  const window = { from: parseTimestamp(from) ?? 0, to: parseTimestamp(to) ?? 0 };
  for await (const { posts } of archive.scan(window))
    for (const { id, activity } of posts) if (matcher.match(activity).length > 0) ids.push(id);
  expect(ids.length).toBeGreaterThan(20);
  return ids;
}
