import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { parquetReadObjects } from 'hyparquet';
import { hashOf, idOf } from './bare-client.js';
import type { Found } from './compare.js';

// These functions read the outputs of a run without the library.

/** Adds the name of the output to each key, so that the same item can be in several outputs. */
export function underKey(output: string, found: Found): Found {
  return found.map(([id, hash]) => [`${output} ${id}`, hash]);
}

export function inTable(found: Found): Found {
  return underKey('row', found);
}

export function postsOf(lines: readonly string[]): Found {
  return lines.filter(line => !line.startsWith('{"info"')).map(line => [idOf(line), hashOf(line)]);
}

export function countsOf(lines: readonly string[]): Found {
  return lines.map(line => {
    const [, period, count] = /^\{"timePeriod":"(\d{12})",.*"count":(\d+)/.exec(line) ?? [];
    if (period === undefined || count === undefined) throw new Error(`Not a count: ${line}`);
    return [period, count];
  });
}

export function rowsOf(texts: readonly string[]): Found {
  return texts.flatMap(text => {
    const rows = parse(text, { columns: true }) as { id: string; raw: string }[];
    return rows.map(({ id, raw }) => [id, hashOf(raw)] as const);
  });
}

export async function parquetRows(bytes: Buffer): Promise<Found> {
  const { buffer, byteOffset, length } = bytes;
  const file = buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer;
  const rows = (await parquetReadObjects({ file })) as { id: bigint | string; raw: string }[];
  return rows.map(({ id, raw }) => [String(id), hashOf(raw)]);
}

interface Cells {
  readonly id: bigint | string;
  readonly text: string;
  readonly author_id: bigint | string;
  readonly lang: string | null | undefined;
}

export function hashOfCells({ text, author_id: author, lang }: Omit<Cells, 'id'>): string {
  return hashOf(JSON.stringify([text, String(author), lang ?? '']));
}

export function csvCells(texts: readonly string[]): Found {
  return texts.flatMap(text => {
    const rows = parse(text, { columns: true }) as Cells[];
    return rows.map(row => [String(row.id), hashOfCells(row)] as const);
  });
}

export async function parquetCells(bytes: Buffer): Promise<Found> {
  const { buffer, byteOffset, length } = bytes;
  const file = buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer;
  const rows = (await parquetReadObjects({ file })) as unknown as Cells[];
  return rows.map(row => [String(row.id), hashOfCells(row)]);
}

export async function postsOfLines(out: string): Promise<Found> {
  return postsOf(await linesIn(out));
}

export async function linesIn(out: string): Promise<string[]> {
  return (await textsIn(out, '.jsonl')).flatMap(linesOf);
}

export function linesOf(text: string): string[] {
  if (text === '') return [];
  if (!text.endsWith('\n')) throw new Error(`The last line is cut: ${text.slice(-80)}`);
  return text.slice(0, -1).split('\n');
}

export async function namesIn(out: string, suffix: string): Promise<string[]> {
  const names = await readdir(out, { recursive: true }).catch(() => []);
  return names.filter(name => name.endsWith(suffix)).toSorted();
}

export async function textsIn(out: string, suffix: string): Promise<string[]> {
  const names = await namesIn(out, suffix);
  return Promise.all(names.map(name => readFile(path.join(out, name), 'utf8')));
}

export async function gzipTexts(out: string, suffix = '.json.gz'): Promise<string[]> {
  const names = await namesIn(out, suffix);
  return Promise.all(
    names.map(async name => gunzipSync(await readFile(path.join(out, name))).toString()),
  );
}

export async function gzipLines(out: string, suffix = '.json.gz'): Promise<string[]> {
  const texts = await gzipTexts(out, suffix);
  return texts.flatMap(text => text.split('\n').filter(line => line.trim() !== ''));
}

interface CommittedFile {
  readonly name: string;
  readonly bytes: number;
}

export function committedFiles(checkpoint: string): CommittedFile[] {
  const { files } = JSON.parse(checkpoint) as { files: { path: string; bytes: number }[] };
  return files.map(({ path: name, bytes }) => ({ name, bytes }));
}

async function filesOfCheckpoint(out: string): Promise<CommittedFile[]> {
  try {
    return committedFiles(await readFile(path.join(out, 'checkpoint.json'), 'utf8'));
  } catch (error) {
    // There was no commit yet. `RowRun` checks whether this is possible.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Returns the committed bytes of each file in a folder.
 *
 * @param files The files that the checkpoint lists. Needed only if the checkpoint is not in `out`.
 */
export async function committedBytes(
  out: string,
  suffix = '',
  files?: readonly CommittedFile[],
): Promise<{ readonly name: string; readonly bytes: Buffer }[]> {
  const all = files ?? (await filesOfCheckpoint(out));
  return Promise.all(
    all
      .filter(({ name }) => name.endsWith(suffix))
      .map(async ({ name, bytes }) => {
        const file = path.resolve(out, name);
        const content = await readFile(`${file}.part`).catch(() => readFile(file));
        if (content.length < bytes) throw new Error(`${name} is shorter than its checkpoint says`);
        return { name, bytes: content.subarray(0, bytes) };
      }),
  );
}

export async function committedTexts(out: string, suffix = ''): Promise<string[]> {
  return (await committedBytes(out, suffix)).map(({ bytes }) => bytes.toString());
}

export async function committedLines(out: string): Promise<string[]> {
  return (await committedTexts(out)).flatMap(linesOf);
}

/**
 * Returns the committed lines of each file. Throws unless the committed bytes are complete gzip
 * members.
 */
export async function committedGzipLines(
  out: string,
  suffix = '',
  files?: readonly CommittedFile[],
): Promise<string[]> {
  return (await committedBytes(out, suffix, files)).flatMap(({ bytes }) =>
    bytes.length === 0 ? [] : linesOf(gunzipSync(bytes).toString()),
  );
}
