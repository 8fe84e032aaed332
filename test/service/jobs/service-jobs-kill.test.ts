import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { parseTimestamp } from '../../../src/base/time.js';
import { Activity } from '../../../src/post/activity.js';
import { compileRules } from '../../../src/rules/index/compile-rules.js';
import { openSampleArchive } from '../../../src/service/sample/sample-archive.js';
import { spawn } from '../../child-processes.js';
import { compiled } from '../../compiled.js';
import { isNightly } from '../../suite.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { unchecked } from '../../unchecked.js';
import type { JobBody, Listing } from './local-jobs.js';

const { kills, toDate, files } = isNightly
  ? { kills: 8, toDate: '202401030000', files: 288 }
  : { kills: 1, toDate: '202401010300', files: 18 };
const CLI = compiled(path.resolve(import.meta.dirname, '../../../src/service/cli.ts'));
const children: ChildProcess[] = [];

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

interface Running {
  readonly child: ChildProcess;
  ask<T>(path: string, method?: string, body?: object): Promise<T>;
}

async function start(state: string): Promise<Running> {
  const options = ['--json', '--state', state, '--limits', 'relaxed', '--job-dwell', '0.2'];
  const child = spawn(process.execPath, [CLI, ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const [line] = await once(child.stdout as NodeJS.ReadableStream, 'data');
  const { historical_url, email, password } = JSON.parse(String(line));
  const base = `${historical_url}/historical/rulestream/accounts/local/publishers/twitter`;
  const headers = { authorization: `Basic ${btoa(`${email}:${password}`)}` };
  return {
    child,
    async ask(rest, method = 'GET', body = undefined) {
      const init = { method, headers, body: body === undefined ? null : JSON.stringify(body) };
      const response = await fetch(base + rest, init);
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
      return unchecked(response.json());
    },
  };
}

describe('a service that is killed', () => {
  it('has each job and each post exactly once after a restart', async () => {
    const state = await temporaryFolder();
    const fields = {
      publisher: 'twitter',
      dataFormat: 'original',
      title: 'killed',
      fromDate: '202401010000',
      toDate,
      rules: [{ value: 'lang:en' }],
    };
    let service = await start(state);
    const { jobURL } = await service.ask<JobBody>('/jobs.json', 'POST', fields);
    const job = `/jobs/${/\/(\w+)\.json$/.exec(jobURL)?.[1]}`;
    const look = async (): Promise<string> => {
      const { status } = await service.ask<JobBody>(`${job}.json`);
      if (status === 'quoted') await service.ask(`${job}.json`, 'PUT', { status: 'accept' });
      return status;
    };
    const kill = async () => {
      service.child.kill('SIGKILL');
      await once(service.child, 'close');
      service = await start(state);
    };
    for (let killed = 0; killed < kills; killed++) {
      await setTimeout(100 + 150 * killed);
      await look();
      await kill();
    }
    // At least one kill must come while the job is writing files.
    for (let status = await look(); status !== 'running'; status = await look()) {
      expect(status).not.toBe('delivered');
      await setTimeout(5);
    }
    await kill();
    while ((await look()) !== 'delivered') await setTimeout(50);

    const listing = await service.ask<Listing>(`${job}/results.json`);
    const ids: string[] = [];
    for (const url of listing.urlList) {
      const lines = gunzipSync(await (await fetch(url)).arrayBuffer())
        .toString()
        .split('\n');
      expect(JSON.parse(lines.pop() ?? '').info.activity_count).toBe(lines.length);
      ids.push(...lines.map(line => new Activity(Buffer.from(line)).id));
    }
    const { results } = await service.ask<JobBody>(`${job}.json`);
    expect([results?.activityCount, results?.fileCount]).toEqual([ids.length, files]);
    expect(ids).toEqual(await matchingIds(fields));
  });
});

async function matchingIds(fields: {
  readonly fromDate: string;
  readonly toDate: string;
  readonly rules: readonly { readonly value: string }[];
}): Promise<string[]> {
  const matcher = compileRules(fields.rules);
  const window = {
    from: parseTimestamp(fields.fromDate) ?? 0,
    to: parseTimestamp(fields.toDate) ?? 0,
  };
  const ids: string[] = [];
  for await (const { posts } of openSampleArchive({ now: Date.now }).scan(window))
    for (const { id, activity } of posts) if (matcher.match(activity).length > 0) ids.push(id);
  return ids;
}
