import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import * as library from '../src/index.js';
import { calls } from './faults/calls.js';
import { disks } from './faults/disks.js';
import { fuzz } from './faults/fuzz.js';
import { jetstream } from './faults/jetstream.js';
import { long } from './faults/long.js';
import { matrix } from './faults/matrix.js';
import { architecture, listedStages, namesIn, tableOf } from './pages.js';

const SOURCE = path.resolve(import.meta.dirname, '../src');

/** Paths in the page are relative to `src`, or to the repository. */
const exists = (name: string) =>
  [name, path.join('..', name)].some(file => existsSync(path.join(SOURCE, file)));

/** The row of the table of what to touch. */
function rowOf(what: string): string {
  const row = tableOf(architecture, 'Adding to it', 'To add').find(([first]) => first === what);
  if (row === undefined) throw new Error(`src/README.md does not say how to add ${what}`);
  return row[1] as string;
}

/** `route-by-tag.ts` is the file of `routeByTag`. */
const functionOf = (file: string) =>
  file.replace(/\.ts$/, '').replace(/-./g, dash => (dash[1] as string).toUpperCase());

/** Files of a folder that define a public function of their name. */
const publicFiles = (folder: string) =>
  readdirSync(path.join(SOURCE, folder))
    .filter(file => file.endsWith('.ts') && functionOf(file) in library)
    .map(file => file.replace(/\.ts$/, ''));

const listed = new Set(listedStages());

describe('the architecture page', () => {
  it('names only files and folders that exist', () => {
    const names = [...architecture.text.matchAll(/`([a-z][\w/-]*(?:\/|\.ts))`/g)].map(
      match => match[1] as string,
    );
    expect(names.length).toBeGreaterThan(30);
    const missing = names
      .filter(name => !name.includes('NAME'))
      .filter(
        name =>
          !existsSync(path.join(SOURCE, name)) &&
          !existsSync(path.resolve(SOURCE, '..', name)) &&
          ![
            'operators/',
            'language/',
            'match/',
            'index/',
            'post/',
            'posts/',
            'sample/',
            'console/',
          ].includes(name),
      );
    expect(missing).toEqual([]);
  });

  it.each([
    ['an operator', 'operators'],
    ['a sink', 'sinks'],
  ])('names the files of %s', (what, folder) => {
    const files = namesIn(rowOf(what)).filter(name => name.includes('NAME'));
    expect(files).toEqual([`${folder}/NAME.ts`, `test/${folder}/NAME.test.ts`]);
    const names = publicFiles(folder);
    expect(names.length).toBeGreaterThan(7);
    const missing = names.flatMap(name =>
      files.map(file => file.replace('NAME', name)).filter(file => !exists(file)),
    );
    expect(missing).toEqual([]);
    expect(names.map(functionOf).filter(name => !listed.has(name))).toEqual([]);
  });
});

describe('the page of the tests', () => {
  const page = readFileSync(path.resolve(SOURCE, '../test/README.md'), 'utf8');
  const names = [...page.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

  it('names only tests that exist', () => {
    const files = names.filter(name => /^test\/(?!a\/)/.test(name));
    expect(files.length).toBeGreaterThan(40);
    expect(files.filter(name => !existsSync(path.resolve(SOURCE, '..', name)))).toEqual([]);
  });

  it('names each test that has no file of src, unless it tests a helper beside it', () => {
    const root = path.resolve(SOURCE, '..');
    const listed = names.filter(name => name.startsWith('test/'));
    const others = readdirSync(path.join(root, 'test'), { recursive: true, encoding: 'utf8' })
      .map(name => `test/${name.replaceAll('\\', '/')}`)
      .filter(name => name.endsWith('.test.ts') && !hasSource(root, name))
      .filter(
        name => !listed.some(one => name === one || (one.endsWith('/') && name.startsWith(one))),
      );
    expect(others).toEqual([]);
  });

  it('names only cells of faults that exist and have trials', () => {
    const cells = [matrix, disks, calls, jetstream, fuzz, long].flatMap(part =>
      part.cells
        .filter(({ expects }) => expects !== 'none')
        .map(({ name }) => `${part.name} ${name}`),
    );
    const named = names.filter(name => /^(matrix|disks|calls|jetstream|fuzz|long) /.test(name));
    expect(named.length).toBeGreaterThan(20);
    const matches = (name: string) => {
      const [start = '', end] = name.split('*');
      return cells.some(cell =>
        end === undefined ? cell === name : cell.startsWith(start) && cell.endsWith(end),
      );
    };
    expect(named.filter(name => !matches(name))).toEqual([]);
  });
});

/** Whether a test has the name of a file of src, alone or before a topic, or of a helper beside it. */
function hasSource(root: string, test: string): boolean {
  const { dir, base } = path.posix.parse(test.slice(0, -'.test.ts'.length));
  const words = base.split('-');
  const starts = words.map((_, count) => words.slice(0, count + 1).join('-'));
  return [
    path.join(root, dir, `${base}.ts`),
    ...starts.flatMap(start =>
      ['ts', 'as'].map(end => path.join(SOURCE, dir.slice('test/'.length), `${start}.${end}`)),
    ),
  ].some(existsSync);
}
