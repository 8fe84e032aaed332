import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { HOUR, MINUTE } from '../../src/base/time.js';
import {
  account,
  activities,
  collect,
  gunzip,
  jobFiles,
  jobs,
  jsonLines,
  pipeline,
  replayRules,
  search,
  usage,
} from '../../src/index.js';
import { createService, type Service, type ServiceOptions } from '../../src/service/index.js';
import { type Snapshot, STATE_PARTS } from '../../src/service/snapshot.js';
import { afterTests } from '../after-tests.js';
import { freePorts } from '../jetstream/free-ports.js';
import { temporaryFolder } from '../temporary-folder.js';

const NOW = Date.UTC(2024, 4, 15, 12, 0);

const stops: (() => Promise<void>)[] = [];
afterTests(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function serve(options: ServiceOptions = {}) {
  const service = createService({
    limits: 'relaxed',
    jobDwellMs: 0,
    posts: [{ text: 'tea of the option' }],
    ...options,
  });
  stops.push(() => service.stop());
  service.clock.freeze();
  service.clock.set(NOW);
  const addresses = await service.start();
  const acme = account(addresses, {});
  const found = async () => {
    const posts = pipeline(search(acme, { product: '30day', query: 'tea', limit: 100 }), collect());
    return (await posts).map(({ text }) => text).toSorted();
  };
  const control = async (method: string, route: string, body?: string) => {
    const response = await fetch(`${addresses.baseUrl}/_control/${route}`, {
      method,
      ...(body === undefined ? {} : { body }),
    });
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  };
  return { service, acme, found, control };
}

type Served = Awaited<ReturnType<typeof serve>>;

async function change({ service, acme, found }: Served): Promise<void> {
  service.posts.add([
    { text: 'more tea', id: '55', postedAt: NOW - HOUR, quoted: { text: 'shared' } },
    { text: 'tea to delete', id: '56', postedAt: NOW - HOUR },
  ]);
  service.posts.delete('56');
  await replayRules.add(acme, [{ value: 'tea', tag: 'T' }]);
  await jobs.run(acme, {
    title: 'a job',
    dataFormat: 'original',
    rules: [{ value: 'tea' }],
    fromDate: new Date(NOW - 2 * HOUR),
    toDate: new Date(NOW - 30 * MINUTE),
    decide: () => true,
    pollIntervalMs: 1,
  });
  await found();
  service.faults.plant({ kind: 'status', status: 503, skip: 5, times: 3, endpoint: 'usage' });
  service.clock.advance('1m');
}

async function stateOf({ service, acme, found }: Served) {
  return {
    now: service.clock.now(),
    posts: service.posts.list().map(({ raw }) => raw.toString()),
    found: await found(),
    rules: (await pipeline(replayRules.list(acme), collect())).map(({ value, tag }) => [
      value,
      tag,
    ]),
    jobs: (await jobs.list(acme)).jobs.map(({ title, status }) => [title, status]),
    faults: service.faults.list().map(({ id, ...fault }) => fault),
  };
}

async function delivered({ acme }: Served): Promise<readonly string[]> {
  const [job] = (await jobs.list(acme)).jobs;
  const texts = await pipeline(
    jobFiles(acme, await jobs.get(acme, String(job?.uuid))),
    gunzip(),
    jsonLines(),
    activities(),
    collect(),
  );
  return texts.map(({ text }) => text);
}

async function withoutTraces(service: Service): Promise<readonly string[]> {
  await service.reset('faults');
  return service.requests().map(({ path }) => path);
}

describe('a reset of the local service', () => {
  it('restores the initial state of every part', async () => {
    const served = await serve();
    const { service, acme } = served;
    await change(served);
    expect((await stateOf(served)).found).toEqual(['more tea', 'tea of the option']);
    expect(await service.reset()).toEqual(STATE_PARTS);
    expect(service.requests()).toEqual([]);
    expect(Math.abs(service.clock.now() - Date.now())).toBeLessThan(MINUTE);
    service.clock.freeze();
    service.clock.set(NOW);
    expect(await stateOf(served)).toMatchObject({
      found: [],
      rules: [],
      jobs: [],
      faults: [],
    });
    const report = await usage.report(acme);
    expect(JSON.stringify(report)).not.toContain('"activities":"2"');
  });

  it('restores only the parts that the caller names', async () => {
    const served = await serve();
    await change(served);
    expect(await served.service.reset('faults', 'rules')).toEqual(['faults', 'rules']);
    const state = await stateOf(served);
    expect(state).toMatchObject({
      rules: [],
      faults: [],
      jobs: [[expect.stringMatching(/^a job/), 'delivered']],
    });
    expect(state.found).toContain('more tea');
    expect(state.now).toBe(NOW + MINUTE);
    await expect(served.service.reset('fault' as 'faults')).rejects.toThrow(/'faults'.*got fault$/);
    expect(await withoutTraces(served.service)).not.toEqual([]);
  });

  it('removes jobs and rules from a state folder', async () => {
    const stateFolder = await temporaryFolder();
    const served = await serve({ stateFolder });
    await change(served);
    await served.service.reset('jobs', 'rules');
    await served.service.stop();
    const again = await serve({ stateFolder });
    expect(await stateOf(again)).toMatchObject({ jobs: [], rules: [] });
  });

  it('opens no port if the service is stopped, so that its process can exit', async () => {
    const [filesPort] = (await freePorts(1)) as [number];
    const { service } = await serve({ filesPort });
    await service.stop();
    expect(await service.reset()).toEqual(STATE_PARTS);
    await expect(serve({ filesPort })).resolves.toBeDefined();
  });

  it('removes the jobs in the state folder even if the service is stopped, which can then start again', async () => {
    const stateFolder = await temporaryFolder();
    const served = await serve({ stateFolder });
    await change(served);
    await served.service.stop();
    await served.service.reset();
    expect((await stateOf(await serve({ stateFolder }))).jobs).toEqual([]);
  });

  it('makes requests possible again after a rate limit was used up', async () => {
    const { service, found } = await serve({
      limits: { searchRate: { requests: 1, perMs: HOUR } },
    });
    await found();
    await service.reset('limits');
    await found();
    expect(service.requests({ endpoint: 'search' }).map(({ status }) => status)).toEqual([
      200, 200,
    ]);
  });
});

describe('a snapshot of the local service', () => {
  it('can be restored in another service, with the files of its jobs', async () => {
    const served = await serve();
    await change(served);
    const [before, files] = [await stateOf(served), await delivered(served)];
    expect(files).toContain('more tea');
    const snapshot = JSON.parse(JSON.stringify(await served.service.snapshot()));
    const other = await serve({ posts: [{ text: 'tea of another service' }] });
    await change(other).catch(() => {});
    await other.service.restore(snapshot);
    expect(await stateOf(other)).toEqual(before);
    expect(await delivered(other)).toEqual(files);
    expect(() => other.service.posts.delete('56')).toThrow(/deleted before/);
    // Later changes must not affect the snapshot.
    await other.service.reset();
    await other.service.restore(snapshot);
    expect(await stateOf(other)).toEqual(before);
  });

  it('is restored completely before a concurrent stop() ends the service', async () => {
    const stateFolder = await temporaryFolder();
    const served = await serve({ stateFolder });
    await change(served);
    const snapshot = await served.service.snapshot();
    await Promise.all([served.service.restore(snapshot), served.service.stop()]);
    expect((await stateOf(await serve({ stateFolder }))).jobs).toHaveLength(1);
  });

  it.each(['before it starts', 'after it was stopped'])(
    'contains what is in the state folder of a service %s',
    async when => {
      const stateFolder = await temporaryFolder();
      const served = await serve({ stateFolder });
      await change(served);
      const { jobs: kept, rules, grants } = stateIn(await served.service.snapshot());
      expect([kept.length, rules.rules.length]).toEqual([1, 1]);
      await served.service.stop();
      const stopped =
        when === 'before it starts'
          ? createService({ limits: 'relaxed', stateFolder })
          : served.service;
      for (const snapshot of await Promise.all([stopped.snapshot(), stopped.snapshot()]))
        expect(stateIn(snapshot)).toMatchObject({ jobs: kept, rules, grants });
      // The state folder is free for another service.
      await serve({ stateFolder });
    },
  );

  it('can be restored before a service starts', async () => {
    const served = await serve();
    await change(served);
    const snapshot = await served.service.snapshot();
    const other = createService({ limits: 'relaxed' });
    stops.push(() => other.stop());
    await other.restore(snapshot);
    const acme = account(await other.start(), {});
    expect((await jobs.list(acme)).jobs.map(({ status }) => status)).toEqual(['delivered']);
  });

  it('causes an error if the state folder of the other service cannot store one of its jobs', async () => {
    const { service, acme } = await serve({ jobDwellMs: HOUR });
    const { uuid } = await jobs.create(acme, {
      title: 'tea',
      fromDate: '202405150900',
      toDate: '202405151000',
      dataFormat: 'original',
      rules: [{ value: 'tea' }],
    });
    const snapshot = await service.snapshot();
    const stateFolder = await temporaryFolder();
    await mkdir(path.join(stateFolder, 'jobs'));
    const inTheWay = path.join(stateFolder, 'jobs', uuid);
    await writeFile(inTheWay, '');
    const other = await serve({ stateFolder });
    await expect(other.service.restore(snapshot)).rejects.toMatchObject({
      code: 'ERR_STORAGE',
      message: expect.stringContaining(inTheWay),
    });
  });

  it('is restored without advancing the jobs that it replaces', async () => {
    const served = await serve({ jobDwellMs: MINUTE });
    const { service, acme } = served;
    service.faults.plant({ kind: 'job-failure', during: 'validation' });
    service.clock.advance(HOUR);
    const snapshot = await service.snapshot();
    await service.reset();
    service.clock.freeze();
    service.clock.set(NOW);
    const job = await jobs.create(acme, {
      title: 'tea',
      fromDate: '202405150900',
      toDate: '202405151000',
      dataFormat: 'original',
      rules: [{ value: 'tea' }],
    });
    const pass = async (minutes: number) => {
      service.clock.advance(minutes * MINUTE);
      await service.settled();
    };
    await pass(2);
    await jobs.accept(acme, job);
    await pass(2);
    expect((await jobs.get(acme, job)).status).toBe('completed');
    // The clock of the snapshot is after the validation of the job.
    await service.restore(snapshot);
    expect(service.faults.list()).toMatchObject([{ kind: 'job-failure', hits: 0 }]);
  });

  it('causes an error if it was edited, and nothing is restored', async () => {
    const served = await serve();
    await change(served);
    const snapshot = await served.service.snapshot();
    const before = await stateOf(served);
    for (const wrong of [
      { ...snapshot, version: 2 },
      { ...snapshot, state: { ...snapshot.state, rules: {} } },
      { version: 1 },
      null,
      'text',
    ])
      await expect(served.service.restore(wrong as typeof snapshot)).rejects.toThrow(/snapshot/);
    expect(await stateOf(served)).toEqual(before);
  });
});

describe('the control API of the local service', () => {
  it('resets the service, and saves and restores snapshots', async () => {
    const served = await serve();
    const { control, service } = served;
    await change(served);
    const before = await stateOf(served);
    const { json: snapshot } = await control('GET', 'snapshot');
    expect(await control('POST', 'reset', '{"parts":["posts","faults"]}')).toEqual({
      status: 200,
      json: { reset: ['faults', 'posts'] },
    });
    expect(service.posts.list().map(({ text }) => text)).toEqual(['tea of the option']);
    expect((await control('POST', 'reset')).json).toEqual({ reset: STATE_PARTS });
    expect(await control('PUT', 'snapshot', JSON.stringify(snapshot))).toEqual({
      status: 200,
      json: { restored: true },
    });
    expect(await stateOf(served)).toEqual(before);
    expect((await control('PUT', 'snapshot', '{}')).status).toBe(422);
    expect((await control('POST', 'reset', '{"part":[]}')).status).toBe(400);
    expect((await control('POST', 'reset', '[]')).status).toBe(400);
    expect((await control('POST', 'reset', '{"parts":["x"]}')).status).toBe(422);
  });

  it('reports whether the service is ready, or why not', async () => {
    const stateFolder = await temporaryFolder();
    const { control, service } = await serve({ stateFolder });
    expect(await control('GET', 'health')).toEqual({
      status: 200,
      json: { ready: true, now: new Date(NOW).toISOString() },
    });
    const archive = {
      format: 'original',
      search: () => Promise.reject(new Error('the disk is gone')),
      counts: () => Promise.reject(new Error('the disk is gone')),
      async *scan() {},
      close: async () => {},
    } as const;
    const broken = await serve({ archive, posts: undefined });
    expect(await broken.control('GET', 'health')).toMatchObject({
      status: 503,
      json: { ready: false, reason: 'the disk is gone' },
    });
    await service.stop();
  });

  it('reports that the service is ready with generated and with stored posts', async () => {
    const folder = await temporaryFolder();
    await mkdir(path.join(folder, 'a'));
    await writeFile(path.join(folder, 'a', 'empty.jsonl'), '');
    for (const options of [{ archive: folder }, {}])
      expect(
        await (await serve({ posts: undefined, ...options })).control('GET', 'health'),
      ).toMatchObject({ status: 200 });
  });
});

function stateIn({ state }: Snapshot) {
  return state as {
    readonly jobs: readonly object[];
    readonly rules: { readonly rules: readonly object[] };
    readonly grants: object;
  };
}
