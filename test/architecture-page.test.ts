import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import * as library from '../src/index.js';
import { namesIn, type Page, pageNamed, root, tableOf } from './pages.js';

const architecture: Page = {
  name: 'src/README.md',
  text: readFileSync(path.join(root, 'src/README.md'), 'utf8'),
};

/** The page names files by their path in `src`, or in the repository; within a row of a folder, by that in this folder. */
const exists = (name: string) =>
  ['src', '.', 'src/rules', 'src/service'].some(folder =>
    existsSync(path.join(root, folder, name)),
  );

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
  readdirSync(path.join(root, 'src', folder))
    .filter(file => file.endsWith('.ts') && functionOf(file) in library)
    .map(file => file.replace(/\.ts$/, ''));

/** The stages that the tables of the README list, by their names. */
const listed = new Set(
  pageNamed('README.md')
    .text.split('\n')
    .filter(line => line.startsWith('|'))
    .flatMap(namesIn)
    .map(name => name.replace(/\(.*/s, '')),
);

describe('the architecture page', () => {
  it('names only files and folders that exist', () => {
    const paths = [...architecture.text.matchAll(/`((?:[\w-]+\/)+(?:[\w.-]+\.\w+)?)`/g)]
      .map(match => match[1] as string)
      .filter(name => !name.includes('NAME'));
    expect(paths.length).toBeGreaterThan(50);
    expect(paths.filter(name => !exists(name))).toEqual([]);
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
