import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { expect } from 'vitest';
import { openTombstones, type Tombstones } from '../../src/compliance/tombstones.js';
import { withoutDeleted } from '../../src/compliance/without-deleted.js';
import type { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { activities } from '../../src/operators/activities.js';
import { compose } from '../../src/operators/compose.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { filter } from '../../src/operators/filter.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { mapAsync } from '../../src/operators/map-async.js';
import { matchRules } from '../../src/operators/match-rules.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import { sample } from '../../src/operators/sample.js';
import { take } from '../../src/operators/take.js';
import { tap } from '../../src/operators/tap.js';
import type { Activity, Routed } from '../../src/post/activity.js';
import { compileRules } from '../../src/rules/index/compile-rules.js';
import { committedOn } from '../../src/sinks/committed.js';
import { csvOn } from '../../src/sinks/csv.js';
import { filesOn } from '../../src/sinks/files.js';
import { parquetOn } from '../../src/sinks/parquet.js';
import { tee } from '../../src/sinks/tee.js';
import { concat } from '../../src/sources/concat.js';
import { localFiles } from '../../src/sources/local-files.js';
import { merge } from '../../src/sources/merge.js';
import { type FileSystem, nodeFileSystem } from '../../src/storage/file-system.js';
import { edit, ofPost } from '../compliance/event.js';
import { type Ending, StandIn } from '../sinks/stand-in.js';
import { SimulatedDisk, seeded } from '../storage/simulated-disk.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import type { Row } from './covering-rows.js';
import { filesRead, type Item, isKept, itemsOf, stagesOf } from './expected.js';
import {
  DELETED,
  EDITED,
  hasDamagedFile,
  isPost,
  type StoredFile,
  store,
  storedFiles,
} from './stored-input.js';
import { postOf, SINKS, VALUES } from './stored-values.js';
import { STOPPED_RUNS } from './suite-rows.js';
import { type Context, hasCheckpoint, optionsIn } from './values.js';

/**
 * The first `STOPPED_RUNS` runs are aborted after `ABORTED_AFTER` items. If the option `(stop)` is
 * `power cut`, the simulated disk loses power instead. This happens at one of `CUT_AT.calls` disk
 * calls, starting with call `CUT_AT.from`.
 */
const ABORTED_AFTER = 7;
const CUT_AT = { from: 15, calls: 45 };
const MAX_RUNS = 6;

const ENDINGS: Readonly<Record<string, readonly Ending[]>> = {
  'given, calls again': ['ok', 'called again', 'ok', 'called again in write'],
  'given, loses answers': ['ok', 'answer lost', 'ok', 'answer lost'],
  'not given, fails after': ['ok', 'fails after', 'ok', 'fails after'],
};

export async function tombstonesOfPairs(): Promise<Tombstones> {
  const tombstones = await openTombstones(await temporaryFolder());
  await tombstones.record([...DELETED.map(id => ofPost('delete', id)), edit(EDITED)]);
  return tombstones;
}

export class RowRun {
  /** Whether a run has completed. Runs after it are not aborted. */
  isComplete = false;
  readonly row: Row;
  readonly seen = new Map<string, unknown[]>();
  /** The items that `write` got. With `encode`, one string for each call. */
  readonly target: StandIn<unknown>;
  readonly fs: FileSystem;
  readonly disk: SimulatedDisk | undefined;
  readonly out: string;
  readonly #input: string;
  readonly #tombstones: Tombstones;
  #run = 0;

  constructor(row: Row, folder: string, tombstones: Tombstones) {
    this.row = row;
    this.disk = row['flow.(stop)'] === 'power cut' ? new SimulatedDisk() : undefined;
    this.fs = this.disk ?? nodeFileSystem;
    this.out = this.disk === undefined ? path.join(folder, 'out') : '/out';
    this.target = new StandIn(ENDINGS[row['committed.transaction'] ?? '']);
    this.#input = path.join(folder, 'in');
    this.#tombstones = tombstones;
  }

  get input(): string {
    return this.#input;
  }

  async run(): Promise<unknown> {
    this.#run++;
    this.target.revive();
    const ending = new AbortController();
    const { row } = this;
    let count = 0;
    const abort = tap(() => {
      if (!this.isComplete && this.#run <= STOPPED_RUNS && ++count === ABORTED_AFTER)
        ending.abort(new Error('aborted'));
    });
    const aborts = row['flow.(stop)'] === 'abort' ? [abort] : [];
    const inBranches = row['flow.(operators)'] === 'in branches';
    const sinks = SINKS.filter(sink => row[sink] === 'yes').map(sink => {
      const made = this.#sink(sink);
      return inBranches
        ? unchecked<(...stages: unknown[]) => unknown>(compose)(...this.#operators(), made)
        : made;
    });
    const sink =
      row.tee === 'yes'
        ? unchecked<(...args: unknown[]) => unknown>(tee)(...sinks, this.#options('tee'))
        : sinks[0];
    const before = inBranches ? aborts : [...this.#operators(), ...aborts];
    const { signal, ...options } = this.#options('pipeline');
    const stages = compose(
      gunzip(unchecked(this.#options('gunzip'))),
      jsonLines(unchecked(this.#options('jsonLines'))),
      activities(unchecked(this.#options('activities'))),
    );
    return unchecked<(...args: unknown[]) => Promise<unknown>>(pipeline)(
      this.#source(),
      stages,
      ...before,
      sink,
      { ...options, ...(signal !== undefined && { signal: ending.signal }) },
    );
  }

  #source(): Flow<Uint8Array> {
    const options = unchecked<object>(this.#options('localFiles'));
    const [a, b] = [path.join(this.#input, 'a'), path.join(this.#input, 'b')];
    switch (this.row['flow.(source)']) {
      case 'two folders':
        return localFiles([a, b], options);
      case 'concat':
        return concat(localFiles(a, options), localFiles(b, options));
      case 'merge':
        return merge(localFiles(a, options), localFiles(b, options));
      case 'list':
        return localFiles(
          storedFiles(this.row)
            .filter(({ isLater }) => !isLater)
            .map(({ name }) => path.join(this.#input, name)),
          options,
        );
      default:
        return localFiles(this.#input, options);
    }
  }

  #operators(): unknown[] {
    const rules = [
      { value: 'snow', tag: 'snow' },
      { value: 'rain', tag: 'rain' },
    ];
    return stagesOf(this.row).map(stage => {
      const options = unchecked<never>(this.#options(stage));
      switch (stage) {
        case 'matchRules': {
          const { dropUnmatched, ...compiling } = this.#options(stage);
          return this.row['matchRules.(rules)'] === 'list'
            ? matchRules(rules, options)
            : matchRules(compileRules(rules, compiling), unchecked({ dropUnmatched }));
        }
        case 'withoutDeleted':
          return withoutDeleted(this.#tombstones, options);
        case 'dedupe':
          return dedupe(options);
        case 'sample':
          return sample(options);
        case 'filter':
          return filter(({ id }: Activity) => isKept(id), options);
        case 'mapAsync':
          return mapAsync(async (post: Activity) => post, options);
        case 'take':
          return take(Number(this.row['take.(count)']));
        default:
          return routeByTag(options);
      }
    });
  }

  #sink(name: (typeof SINKS)[number]): unknown {
    const options = this.#options(name);
    switch (name) {
      case 'files':
        return filesOn(this.fs, unchecked(options));
      case 'csv':
        return csvOn(this.fs, unchecked(options));
      case 'parquet':
        return parquetOn(this.fs, unchecked(options));
      case 'committed': {
        const { transaction: _, ...others } = options;
        const isGiven = this.row['committed.transaction']!.startsWith('given');
        const { write, ...calls } = isGiven ? this.target.transactions : this.target.ranges;
        const writeBlocks: typeof write = (blocks, tx, range) =>
          write([Buffer.concat(unchecked(blocks)).toString()], tx, range);
        return committedOn(
          this.fs,
          unchecked({
            ...others,
            ...calls,
            write: others.encode === undefined ? write : writeBlocks,
          }),
        );
      }
    }
  }

  #options(stage: string): Record<string, unknown> {
    const context: Context = {
      out: this.out,
      run: this.#run,
      saw: (what, value) => {
        this.seen.set(what, [...(this.seen.get(what) ?? []), value]);
      },
    };
    return optionsIn(this.row, stage, VALUES, context);
  }

  async outputs(): Promise<Map<string, Buffer>> {
    const { disk, out } = this;
    if (disk !== undefined)
      return new Map(
        disk
          .files()
          .filter(file => file.startsWith(`${out}/`))
          .map(file => [file.slice(out.length + 1), disk.read(file)]),
      );
    const entries = await readdir(out, { recursive: true, withFileTypes: true }).catch(() => []);
    const files = entries
      .filter(entry => entry.isFile())
      .map(entry => path.join(entry.parentPath, entry.name));
    const contents = await Promise.all(
      files.map(
        async file =>
          [path.relative(out, file).replaceAll('\\', '/'), await readFile(file)] as const,
      ),
    );
    return new Map(contents);
  }
}

/**
 * Runs a pipeline with the options in `row` until it completes, and compares the outputs with the
 * expected ones. If there is a checkpoint, runs it once more and compares again.
 * @param number The index of the row. It decides at which call the disk loses power.
 * @returns Whether a run was stopped.
 */
export async function tryRow(row: Row, number: number, tombstones: Tombstones): Promise<boolean> {
  const folder = await temporaryFolder();
  try {
    return await tryRowIn(new RowRun(row, folder, tombstones), number);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns the number of the disk call at which the power fails. */
function cutAt(number: number): number {
  return CUT_AT.from + (number % CUT_AT.calls);
}

async function tryRowIn(run: RowRun, number: number): Promise<boolean> {
  const { row } = run;
  const stop = row['flow.(stop)'];
  const files = storedFiles(row);
  const first = files.filter(({ isLater }) => !isLater);
  const cut = filesRead(row, first)
    .filter(({ name }) => name.endsWith('.gz'))
    .at(-2)!;
  for (const file of first)
    await store(run.input, file, row, stop === 'a file is cut short' && file === cut);
  if (run.disk !== undefined) run.disk.cutAt = cutAt(number);
  const errors: unknown[] = [];
  for (let runs = 0; ; runs++) {
    try {
      await run.run();
      run.isComplete = true;
      break;
    } catch (error) {
      errors.push(error);
      if (error instanceof TypeError) throw error;
      if (runs === MAX_RUNS) throw new AggregateError(errors, 'The row never ends');
    }
    if (run.disk !== undefined) {
      run.disk.restart(seeded(1));
      run.disk.cutAt = runs + 1 < STOPPED_RUNS ? cutAt(3 * number) : Number.POSITIVE_INFINITY;
    }
    await store(run.input, cut, row);
  }
  if (errors.length > 0 && stop === 'none' && !mayFail(row)) throw errors[0];
  if (run.disk !== undefined) run.disk.cutAt = Number.POSITIVE_INFINITY;
  await store(run.input, cut, row);
  await checkOutputs(run, filesRead(row, first));
  const later = files.filter(({ isLater }) => isLater);
  const isIncremental = row['localFiles.incremental'] === 'true';
  if (isIncremental && row['flow.(source)'] !== 'list')
    for (const file of later) await store(run.input, file, row);
  if (!hasCheckpoint(row)) return errors.length > 0;
  await run.run();
  const all =
    isIncremental && row['flow.(source)'] !== 'list'
      ? [...filesRead(row, first), ...filesRead(row, later)]
      : filesRead(row, first);
  await checkOutputs(run, all);
  return errors.length > 0;
}

/**
 * Returns whether a run may fail once although it is not stopped, because the target or `onFile`
 * fails.
 */
function mayFail(row: Row): boolean {
  return (
    ENDINGS[row['committed.transaction'] ?? ''] !== undefined ||
    SINKS.some(sink => row[`${sink}.onFile`] === 'fails in the first run')
  );
}

async function checkOutputs(run: RowRun, files: readonly StoredFile[]): Promise<void> {
  const { row } = run;
  const expected = await itemsOf(row, files);
  const outputs = await run.outputs();
  const isOrdered = row['flow.(source)'] !== 'merge';
  expect([...outputs.keys()].filter(name => name.endsWith('.part'))).toEqual([]);
  for (const sink of SINKS) {
    if (row[sink] !== 'yes') continue;
    const found =
      sink === 'committed' ? targetRows(run.target.rows, row) : await ROWS[sink](outputs, row);
    const wanted = groupsOf(
      expected,
      item => (sink === 'committed' ? '' : keyOf(item, row[`${sink}.path`]!)),
      item => rowOf(sink, item, row),
    );
    expect({ sink, rows: sortedGroups(found, isOrdered) }).toEqual({
      sink,
      rows: sortedGroups(wanted, isOrdered),
    });
  }
  checkDamaged(run, files, outputs);
}

type Groups = Map<string, string[]>;

function sortedGroups(groups: Groups, isOrdered: boolean): Record<string, string[]> {
  return Object.fromEntries(
    [...groups]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, rows]) => [key, isOrdered ? rows : rows.toSorted()]),
  );
}

function groupsOf<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  rowOf: (item: T) => string,
): Groups {
  const groups: Groups = new Map();
  for (const item of items)
    groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), rowOf(item)]);
  return groups;
}

function keyOf(item: Item, template: string): string {
  switch (template) {
    case '{day}':
      return item.day;
    case '{author}':
      // The author name of a masked post is empty. In file names, an empty value is written as `%`.
      return item.isMasked ? '%' : item.author;
    case '{tag}':
      return item.tag ?? '';
    case 'a function':
      return item.id.slice(-1);
    default:
      return 'all';
  }
}

/**
 * Returns the part of a line that the tests compare. `matchRules` changes the matching rules of a
 * post, so they are removed. A masked post is replaced with its id.
 */
function lineOf(line: string, row: Row): string {
  if (/"hidden":"/.test(line)) return `masked ${/(\d{19})/.exec(line)?.[1]}`;
  if (row.matchRules !== 'yes') return line;
  return line
    .replace(/,"gnip":\{"matching_rules":\[[^\]]*\]\}/, '')
    .replace(/,"matching_rules":\[[^\]]*\]/, '');
}

function rowOf(sink: (typeof SINKS)[number], item: Item, row: Row): string {
  if (sink === 'files' && row['files.line'] === 'a function')
    return `${item.id} ${JSON.stringify(item.text)}`;
  if (sink === 'files' || (sink === 'committed' && row['committed.encode'] === 'not given'))
    return item.isMasked ? `masked ${item.id}` : lineOf(item.raw, row);
  const isEscaped = sink === 'csv' && row['csv.formulas'] === 'escape' && item.text.startsWith('=');
  return `${item.id} ${isEscaped ? "'" : ''}${item.text}`;
}

function targetRows(rows: readonly unknown[], row: Row): Groups {
  if (row['committed.encode'] === 'not given')
    return groupsOf(
      unchecked<(Activity | Routed)[]>(rows).map(postOf),
      () => '',
      post => lineOf(post.raw.toString(), row),
    );
  const text = rows.join('');
  const encoded: string[] =
    row['committed.encode'] === 'toCsv'
      ? parse(text).map(([id, text]: string[]) => `${id} ${text}`)
      : text
          .split('\n')
          .slice(0, -1)
          .map(line => {
            const at = line.indexOf(',');
            return `${line.slice(0, at)} ${JSON.parse(line.slice(at + 1))}`;
          });
  return groupsOf(
    encoded,
    () => '',
    one => one,
  );
}

type Outputs = ReadonlyMap<string, Buffer>;

const ROWS = {
  files: async (outputs: Outputs, row: Row) =>
    rowsBelow('files', outputs, async bytes => {
      const text = bytes.toString();
      expect(text.endsWith('\n')).toBe(true);
      return text
        .slice(0, -1)
        .split('\n')
        .map(line => lineOf(line, row));
    }),
  csv: async (outputs: Outputs) =>
    rowsBelow('csv', outputs, async bytes =>
      (parse(bytes, { columns: true, bom: true }) as { id: string; text: string }[]).map(
        ({ id, text }) => `${id} ${text}`,
      ),
    ),
  parquet: async (outputs: Outputs) =>
    rowsBelow('parquet', outputs, async bytes => {
      const rows = await parquetReadObjects({ file: new Uint8Array(bytes).buffer, compressors });
      return rows.map(({ id, text }) => `${id} ${text}`);
    }),
};

async function rowsBelow(
  folder: string,
  outputs: Outputs,
  read: (bytes: Buffer) => Promise<string[]>,
): Promise<Groups> {
  const groups: Groups = new Map();
  for (const name of [...outputs.keys()].toSorted()) {
    if (!name.startsWith(`${folder}/`) || name.endsWith('.lock')) continue;
    const bytes = outputs.get(name)!;
    const key = path.basename(name).split('.')[0]!;
    const rows = await read(bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes);
    groups.set(key, [...(groups.get(key) ?? []), ...rows]);
  }
  return groups;
}

/**
 * Checks that the file of damaged records contains each record once, and that each `onDamaged`
 * function got all records of its stage. `take` may end the run before some records are read.
 */
function checkDamaged(run: RowRun, files: readonly StoredFile[], outputs: Outputs): void {
  const { row, seen } = run;
  const others = files.flatMap(({ lines }) => lines.filter(line => !isPost(line)));
  const takes = row['take.(count)'] === '5';
  const check = (what: string, found: readonly string[], wanted: readonly string[]) => {
    const rows = takes ? wanted.filter(raw => found.includes(raw)) : wanted;
    expect({ what, rows: found.toSorted() }).toEqual({ what, rows: rows.toSorted() });
  };
  const rawOf = ({ raw }: { readonly raw: string }) => raw.slice(0, 500);
  const damaged = others.flatMap(line => (isPost(line) || line.by === 'message' ? [] : [line]));
  if (hasDamagedFile(row)) {
    const log = outputs.get('damaged/records.jsonl')?.toString() ?? '';
    const lines = log
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line) as { text: string });
    check(
      'damaged',
      lines.map(({ text }) => text.slice(0, 500)),
      damaged.map(rawOf),
    );
  }
  for (const stage of ['jsonLines', 'activities'] as const) {
    if (row[`${stage}.onDamaged`] !== 'given') continue;
    const got = (seen.get(`${stage}.onDamaged`) ?? []) as { readonly raw: Buffer }[];
    const distinct = new Set(got.map(({ raw }) => raw.toString().slice(0, 500)));
    check(stage, [...distinct], damaged.filter(({ by }) => by === stage).map(rawOf));
  }
}
