import { cp, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Endpoint } from 'millrace/service';
import {
  type Expected,
  elementsOf,
  expectedPosts,
  fetchBody,
  fetchPages,
  hashOf,
  idOf,
} from './bare-client.js';
import { type Millrace, PIPELINES, type Pipeline, postsOf, type RowName } from './pipelines.js';
import { minuteOf, QUERY, WINDOWS } from './windows.js';
import { World } from './world.js';

/** A pipeline, what it needs, and what it must put out. */
export interface Row {
  readonly name: RowName;
  readonly pipeline: Pipeline;
  /** The families of endpoints that it uses; none for stored files. */
  readonly endpoints: readonly Endpoint[];
  /** The state that the service starts with. */
  readonly state?: (setting: Omit<RowSetting, 'world'>) => Promise<string>;
  /** Makes what the pipeline reads, and asks the service for what it must put out. */
  prepare(setting: RowSetting): Promise<Prepared>;
}

export interface RowSetting {
  readonly millrace: Millrace;
  readonly world: World;
  /** Of the trial. */
  readonly folder: string;
  /** What is made once for all trials. */
  readonly cache: string;
  /** Whether the service delivers posts twice. */
  readonly repeats: boolean;
}

export interface Prepared {
  readonly input: string;
  readonly expected: Expected;
  /** What may be there before the end. @default `expected` */
  readonly allowed?: Expected;
  /** Fills the folder of the output before the first run. */
  fill?(out: string): Promise<void>;
}

export const SEARCH = '/search/fullarchive/accounts/local/dev';

async function searched({ addresses }: World): Promise<Expected> {
  const pages = await fetchPages(addresses, `${SEARCH}.json`, {
    ...{ query: QUERY, maxResults: 10 },
    fromDate: minuteOf(WINDOWS.search.from),
    toDate: minuteOf(WINDOWS.search.to),
  });
  return expectedPosts(pages.flatMap(page => elementsOf(page, 'results')));
}

async function counted({ addresses }: World): Promise<Expected> {
  const pages = await fetchPages(addresses, `${SEARCH}/counts.json`, {
    ...{ query: QUERY, bucket: 'day' },
    fromDate: minuteOf(WINDOWS.counts.from),
    toDate: minuteOf(WINDOWS.counts.to),
  });
  const counts = pages.flatMap(page => elementsOf(page, 'results'));
  return new Map(
    counts.map(count => [
      /"timePeriod":"(\d+)"/.exec(count)?.[1] ?? '',
      /"count":(\d+)/.exec(count)?.[1] ?? '',
    ]),
  );
}

async function replayed({ addresses }: World): Promise<Expected> {
  const { account, publisher, streamLabel, replayStreamUrl } = addresses;
  const url = `${replayStreamUrl}/replay/firehose/accounts/${account}/publishers/${publisher}/${streamLabel}.json`;
  const { from, to } = WINDOWS.replay;
  const dates = `fromDate=${minuteOf(from)}&toDate=${minuteOf(to)}`;
  const text = await fetchBody(addresses, `${url}?${dates}`);
  return expectedPosts(
    text.split('\r\n').filter(line => line !== '' && !line.startsWith('{"info"')),
  );
}

/** The texts of a job's files, by their names. */
export async function jobTexts({ addresses }: World, uuid: string): Promise<Map<string, string>> {
  const { account, publisher, historicalUrl } = addresses;
  const base = `${historicalUrl}/historical/rulestream/accounts/${account}/publishers/${publisher}/jobs`;
  const results = await fetchBody(addresses, `${base}/${uuid}/results.json`);
  const list = results.slice(results.indexOf('['), results.indexOf(']'));
  const texts = new Map<string, string>();
  for (const [, url = ''] of list.matchAll(/"(http[^"]+)"/g))
    texts.set(
      `${/(\d\d\/\d\d)_activities/.exec(url)?.[1]?.replace('/', '')}.json.gz`,
      await fetchBody(addresses, url),
    );
  return texts;
}

export function lines(text: string): string[] {
  return text.split(/\r?\n/).filter(line => line !== '' && !line.startsWith('{"info"'));
}

/** A job of the service, made once in a process: its state folder, and the texts of its files. */
interface MadeJob {
  readonly uuid: string;
  readonly state: string;
  readonly texts: ReadonlyMap<string, string>;
}

const madeJobs = new Map<string, Promise<MadeJob>>();

function madeJob(cache: string, repeats: boolean): Promise<MadeJob> {
  const state = path.join(cache, repeats ? 'job-repeats' : 'job');
  const known = madeJobs.get(state);
  if (known !== undefined) return known;
  const make = async () => {
    const world = await World.open({ repeats, service: { stateFolder: state } });
    try {
      const uuid = await world.deliverJob();
      return { uuid, state, texts: await jobTexts(world, uuid) };
    } finally {
      await world.close();
    }
  };
  const made = make();
  madeJobs.set(state, made);
  return made;
}

/** The service starts with the job in its state. */
async function stateWithJob({
  folder,
  cache,
  repeats,
}: Omit<RowSetting, 'world'>): Promise<string> {
  const { state } = await madeJob(cache, repeats);
  const copy = path.join(folder, 'state');
  await cp(state, copy, { recursive: true });
  return copy;
}

async function jobPosts({ cache, repeats }: RowSetting): Promise<Prepared> {
  const { uuid, texts } = await madeJob(cache, repeats);
  return { input: uuid, expected: expectedPosts([...texts.values()].flatMap(lines)) };
}

/** A job's files in a folder, made without the library. */
async function store({ cache, folder }: RowSetting): Promise<Prepared> {
  const { texts } = await madeJob(cache, false);
  const input = path.join(folder, 'stored');
  await mkdir(input, { recursive: true });
  for (const [name, text] of texts) await writeFile(path.join(input, name), gzipSync(text));
  return { input, expected: expectedPosts([...texts.values()].flatMap(lines)) };
}

const row = (
  name: RowName,
  endpoints: readonly Endpoint[],
  prepare: (setting: RowSetting) => Promise<Prepared>,
): Row => ({ name, pipeline: PIPELINES[name], endpoints, prepare });

const fromSearch = (name: RowName, expect: (posts: Expected) => Expected = posts => posts) =>
  row(name, ['search'], async ({ world }) => ({
    input: '',
    expected: expect(await searched(world)),
  }));

export const ROWS: readonly Row[] = [
  fromSearch('search'),
  row('counts', ['counts'], async ({ world }) => ({ input: '', expected: await counted(world) })),
  { ...row('job files', ['job-files'], jobPosts), state: stateWithJob },
  { ...row('jobs.download', ['job-files'], jobPosts), state: stateWithJob },
  row('replay', ['replay'], async ({ world }) => ({
    input: '',
    expected: await replayed(world),
  })),
  row('merge', ['search', 'replay'], async ({ world }) => ({
    input: '',
    expected: new Map([...(await searched(world)), ...(await replayed(world))]),
  })),
  row('compliance', ['compliance', 'replay'], async () => ({ input: '', expected: new Map() })),
  fromSearch('csv'),
  fromSearch('parquet'),
  fromSearch(
    'tee',
    posts =>
      new Map(
        [...posts].flatMap(([id, hash]) => [
          [id, hash],
          [`row ${id}`, hash],
        ]),
      ),
  ),
  row('stored files', [], store),
  row('stored files, threads', [], store),
  row('applyCompliance', [], async setting => {
    const { input: stored } = await store(setting);
    const { texts } = await madeJob(setting.cache, false);
    const posts = [...texts.values()].flatMap(lines);
    const deleted = posts.filter((_, index) => index % 3 === 0).map(idOf);
    const isHidden = new Set(deleted);
    const kept = posts.filter(post => ![...idsIn(post)].some(id => isHidden.has(id)));
    return {
      input: await tombstonesOf(deleted, setting),
      expected: new Map(postsOf(kept)),
      allowed: new Map(posts.map(post => [idOf(post), hashOf(post)])),
      fill: out => cp(stored, out, { recursive: true }),
    };
  }),
];

let madeTombstones: Promise<string> | undefined;

/** Tombstones of these posts, made once in a process: they are only read. */
function tombstonesOf(ids: readonly string[], { millrace, cache }: RowSetting): Promise<string> {
  const make = async () => {
    const folder = path.join(cache, 'deleted');
    await using tombstones = await millrace.openTombstones(folder);
    await tombstones.record(
      ids.map(id =>
        millrace.parseComplianceEvent(
          Buffer.from(
            `{"delete":{"status":{"id_str":"${id}","user_id_str":"1"},"timestamp_ms":"1"}}`,
          ),
        ),
      ),
    );
    return folder;
  };
  madeTombstones ??= make();
  return madeTombstones;
}

/** The ids of a post and of the posts within it. */
function* idsIn(post: string): Iterable<string> {
  for (const [, id = ''] of post.matchAll(/"id_str":"(\d+)"/g)) yield id;
}

/** When a post was made, by its id, which counts milliseconds since an epoch. */
export function postedAt(id: string): number {
  return Number((BigInt(id) >> 22n) + 1_288_834_974_657n);
}
