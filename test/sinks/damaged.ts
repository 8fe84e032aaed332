import fc from 'fast-check';
import { expect } from 'vitest';
import { Flow, type Operator } from '../../src/flow/flow.js';
import { activities } from '../../src/operators/activities.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { mapAsync } from '../../src/operators/map-async.js';
import type { Activity } from '../../src/post/activity.js';
import { concat } from '../../src/sources/concat.js';
import { localFiles } from '../../src/sources/local-files.js';
import { merge } from '../../src/sources/merge.js';

export const post = (id: string | number) => `{"id_str":"${id}","created_at":"x"}`;

export interface Line {
  readonly origin?: string;
  readonly line?: number;
  readonly byteOffset?: number;
  readonly record?: number;
  readonly truncated?: boolean;
  readonly error: { readonly name: string; readonly code?: string; readonly message: string };
  readonly text?: string;
  readonly base64?: string;
}

export function linesOf(text: string): Line[] {
  if (text === '') return [];
  expect(text.endsWith('\n')).toBe(true);
  return text
    .slice(0, -1)
    .split('\n')
    .map(line => JSON.parse(line) as Line);
}

export const rawOf = ({ text, base64 }: Line) =>
  text === undefined ? Buffer.from(base64 as string, 'base64') : Buffer.from(text);

export const LF = Buffer.from('\n');
export function postsOf(file: string | Flow<Uint8Array>): Flow<Activity> {
  const source = typeof file === 'string' ? localFiles(file) : file;
  return activities()(jsonLines()(source));
}

export function documents(name: string, lines: readonly (readonly Buffer[])[]): Flow<Uint8Array> {
  return new Flow<Uint8Array>(async function* ({ resume }) {
    for (let at = resume === undefined ? 0 : Number(resume.next); at < lines.length; at++) {
      const blocks = (lines[at] as readonly Buffer[]).map(line => Buffer.concat([line, LF]));
      await new Promise(setImmediate);
      yield { items: blocks, cursor: { next: at + 1 }, origin: `${name}/${at}` };
    }
  });
}

/** Damaged records. Some of them have the same bytes. */
export const DAMAGE = [
  Buffer.from('null'),
  Buffer.from('{}'),
  Buffer.from('{"id_str":"7"'),
  Buffer.from([0x7b, 0xff, 0x7d]),
  Buffer.from([0xff]),
];

export interface Shape {
  readonly documents: readonly (readonly number[])[];
  readonly others: readonly (readonly number[])[];
}

/** A number below 0 selects a kind of damage. Any other number is the id of a post. */
const documentsOf = fc.array(
  fc.array(fc.integer({ min: -DAMAGE.length, max: 3 }), { maxLength: 5 }),
  { minLength: 1, maxLength: 8 },
);
export const shapes: fc.Arbitrary<Shape> = fc.record({
  documents: documentsOf,
  others: documentsOf,
});

export function bytesOf(shape: readonly (readonly number[])[], from: number): Buffer[][] {
  let id = from;
  return shape.map(lines =>
    lines.map(kind => (kind < 0 ? (DAMAGE[-kind - 1] as Buffer) : Buffer.from(post(id++)))),
  );
}

const same: Operator<Activity, Activity> = mapAsync(async item => {
  await new Promise(setImmediate);
  return item;
});

export const FLOWS: Readonly<
  Record<string, (one: Buffer[][], other: Buffer[][]) => Flow<Activity>>
> = {
  'one source': one => postsOf(documents('one', one)),
  'a source that is read ahead': one => same(postsOf(documents('one', one))),
  'dedupe and a source that is read ahead': one => dedupe()(same(postsOf(documents('one', one)))),
  'sources that are merged': (one, other) =>
    merge(postsOf(documents('one', one)), same(postsOf(documents('other', other)))),
  'sources one after the other': (one, other) =>
    same(concat(postsOf(documents('one', one)), postsOf(documents('other', other)))),
  'bytes of sources one after the other, decoded together': (one, other) =>
    same(postsOf(concat(documents('one', one), documents('other', other)))),
};

export function damagedIn(flow: string, one: Buffer[][], other: Buffer[][]): string[] {
  return linesIn(flow, one, other).filter(isDamaged);
}

export function idsIn(flow: string, one: Buffer[][], other: Buffer[][]): string[] {
  return linesIn(flow, one, other)
    .filter(line => !isDamaged(line))
    .map(line => (JSON.parse(line) as { readonly id_str: string }).id_str);
}

function linesIn(flow: string, one: Buffer[][], other: Buffer[][]): string[] {
  const all = /merged|after the other/.test(flow) ? [...one, ...other] : one;
  return all
    .flat()
    .map(line => line.toString('latin1'))
    .toSorted();
}

function isDamaged(line: string): boolean {
  return DAMAGE.some(bytes => bytes.toString('latin1') === line);
}

export function keptIn(log: string): string[] {
  return linesOf(log)
    .map(line => rawOf(line).toString('latin1'))
    .toSorted();
}
