import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { applyCompliance } from '../../src/compliance/apply-compliance.js';
import { openTombstones } from '../../src/compliance/tombstones.js';
import { withoutDeleted } from '../../src/compliance/without-deleted.js';
import type { Flow, Sink } from '../../src/flow/flow.js';
import { activities } from '../../src/operators/activities.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { map } from '../../src/operators/map.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import type { Activity } from '../../src/post/activity.js';
import { files } from '../../src/sinks/files.js';
import { localFiles } from '../../src/sources/local-files.js';
import { outputOf, spawn } from '../child-processes.js';
import { compiled } from '../compiled.js';
import { ofPost } from '../compliance/event.js';
import { linesOf, rawOf } from '../sinks/damaged.js';
import { temporaryFolder } from '../temporary-folder.js';

type Case = readonly [
  name: string,
  line: string,
  posts: readonly string[],
  damaged: readonly string[],
];

const post = (id: number, tag = 'red', text = 'some words') =>
  `{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":${id},"id_str":"${id}","text":"${text}","user":{"id":7,"id_str":"7","screen_name":"a"},"matching_rules":[{"tag":"${tag}","id":1}]}`;
const A = post(101);
const B = post(102, 'blue');
const C = post(103);
const CUT = A.indexOf('ords');
/**
 * `MASKED` is a masked post as `withoutDeleted` writes it. `AS_LONG` is a post with exactly the
 * same length.
 */
const MASKED =
  '{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":101,"id_str":"101","text":"","user":{"id":7,"id_str":"7","name":"","screen_name":""},"hidden":"deleted","matching_rules":[{"tag":"red","id":1,"id_str":"1"}]}';
const AS_LONG = post(101, 'red', 'x'.repeat(MASKED.length - post(101, 'red', '').length));
const START = '{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":7,"id_str":"7",';

const CASES: readonly Case[] = [
  ['nothing between', `${A}${B}`, [A, B], []],
  ['a space between', `${A} ${B}`, [A, B], []],
  ['a comma between', `${A},${B}`, [A, B], []],
  ['a comma and spaces between', `${A} ,\t${B}`, [A, B], []],
  ['a truncated record before a complete one', A.slice(0, CUT) + B, [], [A.slice(0, CUT) + B]],
  ['a complete record before a truncated one', A + B.slice(0, CUT), [A], [B.slice(0, CUT)]],
  [
    'a complete record inside another one',
    A.slice(0, CUT) + B + A.slice(CUT),
    [],
    [A.slice(0, CUT) + B + A.slice(CUT)],
  ],
  [
    'a record after a comma of another',
    `${START}${B},"text":"a"}`,
    [],
    [`${START}${B},"text":"a"}`],
  ],
  ['two commas between', `${A},,${B}`, [A], [`,,${B}`]],
  ['a comma at the end', `${A},`, [A], [',']],
  ['brackets that do not match', `${START}"a":{]}`, [], [`${START}"a":{]}`]],
  ['a comma before the last bracket', `${START}"a":1,}`, [], [`${START}"a":1,}`]],
  ['text after the object', `${A}x}`, [A], ['x}']],
  ['a truncated literal', `${START}"a":tru}`, [], [`${START}"a":tru}`]],
];

/** With `through map()`, the flow contains a user function, so the engine cannot run the flow. */
const WAYS = ['through map()', 'without threads', 'with threads'] as const;
type Way = (typeof WAYS)[number];

let folder: string;
let input: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  input = path.join(folder, 'in');
  await mkdir(input);
});

function posts(way: Way): Flow<Activity> {
  const bytes = localFiles(input);
  const source = way === 'through map()' ? map((block: Uint8Array) => block)(bytes) : bytes;
  return activities()(jsonLines()(gunzip({ plain: 'pass' })(source)));
}

async function run<T>(sink: (out: string) => Sink<T, { readonly posts: number }>, flow: Flow<T>) {
  const out = path.join(folder, 'out');
  const outcome = await sink(out)(flow).then(
    result => ({ posts: result.posts }),
    (error: { readonly code: string }) => ({ error: error.code }),
  );
  const contents: Record<string, string> = {};
  for (const name of await readdir(out).catch(() => []))
    contents[name] = await readFile(path.join(out, name), 'utf8');
  return { ...outcome, contents };
}

describe.each(WAYS)('several records on one line, read %s,', way => {
  const workers = way === 'with threads' ? 2 : 0;
  const lines = (items: readonly string[]) => items.map(item => `${item}\n`).join('');

  it.each(CASES)(
    'are written as separate lines if they are complete, and the run fails if a part is damaged: %s',
    async (_, line, whole, damaged) => {
      await writeFile(path.join(input, 'a.jsonl.gz'), gzipSync(`${line}\n${C}\n`));
      const { contents, ...outcome } = await run(
        out => files<Activity>({ path: path.join(out, 'all.jsonl'), workers }),
        posts(way),
      );
      if (damaged.length > 0) expect(outcome).toEqual({ error: 'ERR_DATA' });
      else {
        expect(outcome).toEqual({ posts: whole.length + 1 });
        expect(contents).toEqual({ 'all.jsonl': lines([...whole, C]) });
      }
    },
  );

  it.each(CASES)(
    'are written as separate lines if they are complete, and damaged parts go to the `damaged` file: %s',
    async (_, line, whole, damaged) => {
      await writeFile(path.join(input, 'a.jsonl.gz'), gzipSync(`${C}\n${line}\n`));
      const log = path.join(folder, 'damaged.jsonl');
      const { contents, ...outcome } = await run(
        out => files<Activity>({ path: path.join(out, 'all.jsonl'), workers, damaged: log }),
        posts(way),
      );
      expect(outcome).toEqual({ posts: whole.length + 1 });
      expect(contents['all.jsonl']).toBe(lines([C, ...whole]));
      const found = linesOf(await readFile(log, 'utf8').catch(() => ''));
      expect(found.map(one => rawOf(one).toString())).toEqual(damaged);
      for (const [index, { line: at, byteOffset }] of found.entries()) {
        expect(at).toBe(2);
        expect(byteOffset).toBe(C.length + 1 + line.lastIndexOf(damaged[index] as string));
      }
    },
  );

  it.each([
    ['nothing', `${A}${B}`],
    ['a comma', `${A},${B}\r`],
  ])('are separate posts for dedupe and routeByTag with %s between them', async (_, line) => {
    await writeFile(path.join(input, 'a.jsonl'), `${line}\n${A}\n${line}`);
    const { contents, ...outcome } = await run(
      out => files({ path: path.join(out, '{tag}.jsonl'), workers }),
      routeByTag()(dedupe()(posts(way))),
    );
    expect(outcome).toEqual({ posts: 2 });
    expect(contents).toEqual({ 'red.jsonl': `${A}\n`, 'blue.jsonl': `${B}\n` });
  });

  it.each([
    ['101', false, B],
    ['102', false, A],
    ['101', true, `${MASKED}\n${B}`],
  ])(
    'are removed separately if one is deleted (id %s, with mask: %s)',
    async (id, mask, expected) => {
      await writeFile(path.join(input, 'a.jsonl'), `${mask ? AS_LONG : A}${B}\n`);
      const tombstones = await openTombstones(path.join(folder, 'tombstones'));
      await tombstones.record([ofPost('delete', id)]);
      const { contents } = await run(
        out => files<Activity>({ path: path.join(out, 'all.jsonl'), workers }),
        withoutDeleted(tombstones, { mask })(posts(way)),
      );
      await tombstones.close();
      expect(contents).toEqual({ 'all.jsonl': `${expected}\n` });
    },
  );
});

describe('several records on one line', () => {
  it('are removed separately by applyCompliance if one is deleted', async () => {
    await writeFile(path.join(input, 'a.jsonl'), `${A}${B}\n${C}\n`);
    const tombstones = await openTombstones(path.join(folder, 'tombstones'));
    await tombstones.record([ofPost('delete', '102')]);
    const { posts: read, removed } = await applyCompliance(input, tombstones);
    await tombstones.close();
    expect({ read, removed }).toEqual({ read: 3, removed: { deleted: 1 } });
    expect(await readFile(path.join(input, 'a.jsonl'), 'utf8')).toBe(`${A}\n${C}\n`);
  });

  it.each([
    ['0 if they are complete', `${A}${B}`, 0],
    ['1 if the last one is cut off', `${A}${B.slice(0, CUT)}`, 1],
    ['1 if one is not JSON', `${START}"a":1,}`, 1],
  ])('determine the exit code of the command millrace convert: %s', async (_, line, code) => {
    await writeFile(path.join(input, 'a.jsonl'), `${line}\n`);
    const command = compiled(path.resolve(import.meta.dirname, '../../src/command/millrace.ts'));
    const out = path.join(folder, 'a.csv');
    const child = spawn(process.execPath, [command, 'convert', input, '--out', out]);
    expect((await outputOf(child)).code).toBe(code);
  });
});
