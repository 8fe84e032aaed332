import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import type { JsonRecord } from '../../src/json/records.js';
import { activities } from '../../src/operators/activities.js';
import { jsonElements } from '../../src/operators/json-elements.js';
import { files } from '../../src/sinks/files.js';
import { stdout } from '../../src/sinks/stdout.js';
import { localFiles } from '../../src/sources/local-files.js';
import { linesOf, rawOf } from '../sinks/damaged.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';

const POSTS = [
  { id_str: '1', text: 'a\n  b', entities: { urls: [{ url: 'x' }] } },
  { id_str: '2', text: ' \r\n' },
];

async function stored(document: string) {
  const folder = await temporaryFolder();
  await writeFile(path.join(folder, 'a.json'), document);
  return { source: localFiles(path.join(folder, 'a.json')), folder };
}

const parsed = (lines: string) =>
  lines
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as unknown);

it('files() writes an indented JSON element as one line, with its strings unchanged', async () => {
  const { source, folder } = await stored(JSON.stringify({ results: POSTS }, undefined, 2));
  const out = path.join(folder, 'all.jsonl');
  const { posts } = await pipeline(source, jsonElements('results'), files({ path: out }));
  expect([posts, parsed(await readFile(out, 'utf8'))]).toEqual([2, POSTS]);
});

it('stdout() writes an indented JSON element of any type as one line', async () => {
  const values = [...POSTS, [1, [2, 'x']], 'a', 7];
  const { source } = await stored(
    JSON.stringify({ results: values }, undefined, '\t').replaceAll('\n', '\r\n'),
  );
  const stream = new PassThrough();
  const written = text(stream);
  await pipeline(source, jsonElements('results'), stdout({ stream }));
  stream.end();
  expect(parsed(await written)).toEqual(values);
});

it('files() refuses bytes of several lines that are not JSON, with advice', async () => {
  const { source, folder } = await stored('{"id":1}\n{"id":2}\n');
  const blocks = unchecked<Flow<Uint8Array>>(source);
  const run = pipeline(blocks, files({ path: path.join(folder, 'all.jsonl') }));
  await expect(run).rejects.toThrow(DataError);
  await expect(run).rejects.toThrow(/jsonLines\(\)/);
});

it('files() treats a post with a line feed inside a string as damaged', async () => {
  const damaged = '{"id_str":"2","text":"a\nb"}';
  const folder = await temporaryFolder();
  // `jsonElements()` refuses this input, but the source of a user can deliver it.
  const records = new Flow(async function* () {
    yield { items: [Buffer.from('{"id_str":"1",\n"text":"a"}'), Buffer.from(damaged)] };
  });
  const source = unchecked<Flow<JsonRecord>>(records);
  const [out, log] = [path.join(folder, 'all.jsonl'), path.join(folder, 'damaged.jsonl')];
  await pipeline(source, activities(), files({ path: out, damaged: log }));
  expect(await readFile(out, 'utf8')).toBe('{"id_str":"1", "text":"a"}\n');
  expect(linesOf(await readFile(log, 'utf8')).map(one => rawOf(one).toString())).toEqual([damaged]);
});
