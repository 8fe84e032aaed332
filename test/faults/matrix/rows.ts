import { cp, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Endpoint } from 'millrace/service';
import { engagementPosts, OWNER } from './archive.js';
import { type Expected, expectedPosts, hashOf, idOf } from './bare-client.js';
import {
  counted,
  engagementTotals,
  idsIn,
  jobTexts,
  lines,
  replayed,
  searched,
} from './expected.js';
import { isSelected } from './only-killed.js';
import { hashOfCells, inTable, postsOf, underKey } from './outputs.js';
import type { Millrace, Pipeline } from './pipeline.js';
import { deletedBeside, PIPELINES, type RowName, rulesBeside } from './pipelines.js';
import { World } from './world.js';

export interface Row {
  readonly name: RowName;
  readonly pipeline: Pipeline;
  /**
   * The families of endpoints that the pipeline uses. The first family delivers the items. Empty
   * for pipelines that read stored files.
   */
  readonly endpoints: readonly Endpoint[];
  readonly state?: (setting: Omit<RowSetting, 'world'>) => Promise<string>;
  prepare(setting: RowSetting): Promise<Prepared>;
}

export interface RowSetting {
  readonly millrace: Millrace;
  readonly world: World;
  readonly folder: string;
  /** The folder for files that are created once for all trials. */
  readonly cache: string;
  readonly repeats: boolean;
  readonly large: boolean;
  readonly plain: boolean;
}

export interface Prepared {
  readonly input: string;
  readonly expected: Expected;
  /** The items that may be output before the run is complete. @default `expected` */
  readonly allowed?: Expected;
  /**
   * The number of records that the tests' own client has received, minus the number of posts.
   * @default 0
   */
  readonly repeated?: number;
  fill?(out: string): Promise<void>;
}

interface MadeJob {
  readonly uuid: string;
  readonly state: string;
  readonly texts: ReadonlyMap<string, string>;
}

const madeJobs = new Map<string, Promise<MadeJob>>();

type JobSetting = Pick<RowSetting, 'cache' | 'repeats' | 'large' | 'plain'>;

function madeJob({ cache, repeats, large, plain }: JobSetting): Promise<MadeJob> {
  const kind = `${repeats ? '-repeats' : ''}${large ? '-large' : ''}${plain ? '-plain' : ''}`;
  const state = path.join(cache, `job${kind}`);
  const known = madeJobs.get(state);
  if (known !== undefined) return known;
  const make = async () => {
    const world = await World.open({ repeats, large, plain, service: { stateFolder: state } });
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

async function stateWithJob(setting: Omit<RowSetting, 'world'>): Promise<string> {
  const { state } = await madeJob(setting);
  const copy = path.join(setting.folder, 'state');
  await cp(state, copy, { recursive: true });
  return copy;
}

async function jobPosts(setting: RowSetting): Promise<Prepared> {
  const { uuid, texts } = await madeJob(setting);
  return { input: uuid, ...withRepeated([...texts.values()].flatMap(lines)) };
}

function withRepeated(records: readonly string[]) {
  const expected = expectedPosts(records);
  return { expected, repeated: records.length - expected.size };
}

async function store(setting: RowSetting): Promise<Prepared> {
  const { texts } = await madeJob(setting);
  const input = await storeTexts(texts, setting);
  return { input, expected: expectedPosts([...texts.values()].flatMap(lines)) };
}

interface Text {
  readonly text: string;
  readonly extended_tweet?: { readonly full_text: string };
}

const fullText = ({ text, extended_tweet: extended }: Text) => extended?.full_text ?? text;

async function storeCells(setting: RowSetting): Promise<Prepared> {
  const { texts } = await madeJob(setting);
  const posts = [...texts.values()].flatMap(lines);
  return { input: await storeTexts(texts, setting), expected: expectedCells(posts) };
}

function expectedCells(posts: readonly string[]): Expected {
  const cells = (post: string) => {
    const { user, lang, ...read } = JSON.parse(post);
    const { retweeted_status: shared } = read;
    // The text of a retweet is the full text of the retweeted post, after a prefix.
    const text = shared ? `RT @${shared.user.screen_name}: ${fullText(shared)}` : fullText(read);
    return { text: text.replaceAll('&amp;', '&'), author_id: user.id_str, lang };
  };
  return new Map(posts.map(post => [idOf(post), hashOfCells(cells(post))]));
}

async function storeTexts(
  texts: ReadonlyMap<string, string>,
  { folder }: RowSetting,
): Promise<string> {
  const input = path.join(folder, 'stored');
  await mkdir(input, { recursive: true });
  for (const [name, text] of texts)
    await writeFile(path.join(input, name), gzipSync(text, { level: 1 }));
  return input;
}

function engagementTexts(): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const { at, activity } of engagementPosts()) {
    const name = `${new Date(at).toISOString().slice(11, 15).replace(':', '')}0.json.gz`;
    texts.set(name, `${texts.get(name) ?? ''}${activity.raw}\n`);
  }
  return texts;
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
  { ...row('job files', ['job-files', 'jobs'], jobPosts), state: stateWithJob },
  { ...row('jobs.download', ['job-files', 'jobs'], jobPosts), state: stateWithJob },
  row('replay', ['replay'], async ({ world }) => ({
    input: '',
    ...withRepeated(await replayed(world)),
  })),
  row('merge', ['search', 'replay'], async ({ world }) => {
    const { expected, repeated } = withRepeated(await replayed(world));
    return { input: '', expected: new Map([...(await searched(world)), ...expected]), repeated };
  }),
  { ...row('job files, threads', ['job-files', 'jobs'], jobPosts), state: stateWithJob },
  row('compliance', ['compliance', 'replay'], async () => ({ input: '', expected: new Map() })),
  fromSearch('gzip files'),
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
  row('stored files, gzip by threads', [], store),
  row('stored files, csv by threads', [], storeCells),
  row('stored files, parquet by threads', [], storeCells),
  row('stored files, tee by threads', [], async setting => {
    const { input, expected: posts } = await store(setting);
    const { texts } = await madeJob(setting);
    const cells = expectedCells([...texts.values()].flatMap(lines));
    return { input, expected: new Map([...posts, ...inTable([...cells])]) };
  }),
  row('stored files, deletions by threads', [], async setting => {
    const { input, expected } = await store(setting);
    const { texts } = await madeJob(setting);
    const posts = [...texts.values()].flatMap(lines);
    const deleted = posts.filter((_, index) => index % 3 === 0).map(idOf);
    await cp(await tombstonesOf(deleted, setting), deletedBeside(input), { recursive: true });
    const isHidden = new Set(deleted);
    const kept = posts.filter(post => ![...idsIn(post)].some(id => isHidden.has(id)));
    return { input, expected: new Map(postsOf(kept)), allowed: expected };
  }),
  row('stored files, rules by threads', [], async setting => {
    const { input } = await store(setting);
    const { texts } = await madeJob(setting);
    const posts = [...texts.values()].flatMap(lines);
    const rules = someRules(posts);
    await writeFile(rulesBeside(input), JSON.stringify(rules));
    return { input, expected: new Map(postsOf(posts.flatMap(post => matched(post, rules)))) };
  }),
  row('applyCompliance', [], async setting => {
    const { input: stored } = await store(setting);
    const { texts } = await madeJob(setting);
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
  fromSearch('tee, database', posts => {
    const all = [...posts];
    return new Map([
      ...all,
      ...underKey('row', all),
      ...underKey(
        'selected',
        all.filter(([, hash]) => isSelected(hash)),
      ),
      ...underKey(
        'seven',
        all.map(([id]) => [id, '']),
      ),
    ]);
  }),
  fromSearch('on file'),
  row('damaged', [], storeDamaged),
  row('engagement', ['engagement'], async setting => {
    const texts = engagementTexts();
    const token = await setting.world.signIn(OWNER);
    return {
      input: await storeTexts(texts, setting),
      expected: await engagementTotals(setting.world, token, [...texts.values()]),
    };
  }),
];

/**
 * Writes a job's files into a folder, like `store`. Adds records that are not posts, and posts
 * whose time a table cannot contain.
 */
async function storeDamaged(setting: RowSetting): Promise<Prepared> {
  const { texts } = await madeJob(setting);
  const input = path.join(setting.folder, 'stored');
  await mkdir(input);
  const expected = new Map<string, string>();
  for (const [name, text] of texts) {
    const records: Buffer[] = [];
    for (const [index, post] of lines(text).entries()) {
      const hash = hashOf(post);
      expected.set(idOf(post), hash).set(`row ${idOf(post)}`, hash);
      const { bytes, hasLine } = damagedRecord(post, index);
      records.push(Buffer.from(post), bytes);
      const key = hasLine ? records.length : bytes.toString();
      expected.set(`damaged ${name} ${key}`, hashOf(bytes.toString('latin1')));
    }
    // Files of lines contain this post, but tables do not, because its time is invalid.
    const untimed = `{"id":1,"id_str":"${name}","created_at":"never"}`;
    records.push(Buffer.from(untimed));
    expected.set(name, hashOf(untimed)).set(`damaged ${name} ${untimed}`, hashOf(untimed));
    const stored = Buffer.concat(records.flatMap(record => [record, Buffer.from('\n')]));
    await writeFile(path.join(input, name), gzipSync(stored, { level: 1 }));
  }
  return { input, expected };
}

/**
 * Creates one of four kinds of damaged records: one that is not an object, has invalid UTF-8, has
 * no id, or has the same bytes as another damaged record. If an object has no id, its line number
 * is not known when the damage is found.
 */
function damagedRecord(post: string, index: number): { bytes: Buffer; hasLine: boolean } {
  const kinds = [
    Buffer.from(post.slice(0, -1)),
    Buffer.from([0x7b, 0xff, ...Buffer.from(idOf(post)), 0xfe]),
    Buffer.from(`{"text":"${idOf(post)}"}`),
    Buffer.from('null'),
  ];
  const kind = index % kinds.length;
  return { bytes: kinds[kind] as Buffer, hasLine: kind !== 2 };
}

interface TaggedRule {
  readonly value: string;
  readonly tag: string | null;
  readonly id: string;
}

function someRules(posts: readonly string[]): readonly TaggedRule[] {
  const authors = [...new Set(posts.map(authorOf))];
  const rules = authors
    .map((author, index) => ({ value: `from:${author}`, tag: `group-${index % 3}` }))
    .filter((_, index) => index % 4 !== 3);
  return [...rules, { value: 'lang:en', tag: null }].map((rule, index) => ({
    ...rule,
    id: String(BigInt(index) + 2n ** 60n),
  }));
}

/**
 * Returns the post with the matching rules of `rules` instead of the service's rules. Returns an
 * empty list if no rule matches.
 */
function matched(post: string, rules: readonly TaggedRule[]): string[] {
  const { lang } = JSON.parse(post) as { readonly lang: string };
  const has = new Set([`from:${authorOf(post)}`, `lang:${lang}`]);
  const entries = rules
    .filter(({ value }) => has.has(value))
    .map(({ tag, id }) => `{"tag":${JSON.stringify(tag)},"id":${id},"id_str":"${id}"}`);
  if (entries.length === 0) return [];
  const [list] = /\[[^[\]]*\]\}$/.exec(post) as RegExpExecArray;
  return [`${post.slice(0, -list.length)}[${entries.join(',')}]}`];
}

function authorOf(post: string): string {
  return (JSON.parse(post) as { readonly user: { readonly id_str: string } }).user.id_str;
}

let madeTombstones: Promise<string> | undefined;

/** Pipelines only read these tombstones, so they are created once per process. */
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
