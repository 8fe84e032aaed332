import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import * as library from '../src/index.js';
import { ruleOperators } from '../src/rules/operators/operators.js';
import { COUNTS_OPTIONS } from '../src/search/counts.js';
import { SEARCH_OPTIONS } from '../src/search/search.js';
import { environmentOf } from '../src/service/account-variables.js';
import { createService } from '../src/service/index.js';
import { outputOf, spawn } from './child-processes.js';
import { calls } from './faults/calls.js';
import { disks } from './faults/disks.js';
import { fuzz } from './faults/fuzz.js';
import { jetstream } from './faults/jetstream.js';
import { long } from './faults/long.js';
import { matrix } from './faults/matrix.js';
import { architecture, listedStages, namesIn, pageNamed, tableOf } from './pages.js';
import { temporaryFolder } from './temporary-folder.js';

const SOURCE = path.resolve(import.meta.dirname, '../src');

const exists = (name: string) =>
  [name, path.join('..', name)].some(file => existsSync(path.join(SOURCE, file)));

const sourceOf = (name: string) => readFileSync(path.join(SOURCE, name), 'utf8');

function rowOf(what: string): string {
  const row = tableOf(architecture, 'Adding to it', 'To add').find(([first]) => first === what);
  if (row === undefined) throw new Error(`src/README.md does not say how to add ${what}`);
  return row[1] as string;
}

const functionOf = (file: string) =>
  file.replace(/\.ts$/, '').replace(/-./g, dash => (dash[1] as string).toUpperCase());

const publicFiles = (folder: string) =>
  readdirSync(path.join(SOURCE, folder))
    .filter(file => file.endsWith('.ts') && functionOf(file) in library)
    .map(file => file.replace(/\.ts$/, ''));

const listed = new Set(listedStages());

describe('the architecture page src/README.md', () => {
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
  ])('names the files to change for %s', (what, folder) => {
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

  it('names the files to change for a rule operator', () => {
    const files = namesIn(rowOf('a rule operator')).filter(name => name.endsWith('.ts'));
    expect(files).toEqual(['rules/operators/operators.ts', 'rules/tree.ts']);
    const names = Object.keys(ruleOperators);
    expect(names.length).toBeGreaterThan(20);
    const page = pageNamed('src/rules/README.md').text;
    const [, values = ''] = sourceOf('rules/tree.ts').split('interface OperatorValues {');
    expect(names.filter(name => !values.includes(`\n  ${name}: `))).toEqual([]);
    expect(names.filter(name => !page.includes(`\`${name}:`))).toEqual([]);
  });

  it('names the files to change for a column of posts', () => {
    const files = namesIn(rowOf('a column of posts'));
    expect(files).toContain('tables/post-columns.ts');
    expect(files).toContain('tables/README.md');
    const page = pageNamed('src/tables/README.md').text;
    const names = Object.keys(library.tables.posts);
    expect(names.filter(name => !page.includes(`\n| \`${name}\` | `))).toEqual([]);
  });

  it('names the files to change for an option of search and counts', () => {
    const files = namesIn(rowOf('an option of `search` or `counts`'));
    expect(files.join()).toBe('search/query.ts,search/search.ts,search/counts.ts,search/README.md');
    const sources = files.filter(name => name.endsWith('.ts')).map(sourceOf);
    const page = pageNamed('src/search/README.md').text;
    const names = Object.keys({ ...SEARCH_OPTIONS, ...COUNTS_OPTIONS });
    expect(names.length).toBeGreaterThan(8);
    expect(
      names.filter(name => !sources.some(text => text.includes(`  readonly ${name}`))),
    ).toEqual([]);
    expect(names.filter(name => !page.includes(`\`${name}\``))).toEqual([]);
  });

  it('names the files to change for an encoder', () => {
    const row = rowOf('an encoder, which makes blocks of rows in threads');
    const [type = '', example = '', list = ''] = namesIn(row).filter(name => name.endsWith('.ts'));
    expect(sourceOf(type)).toContain('export interface EncoderKind');
    const kind = /const (\w+): EncoderKind</.exec(sourceOf(example))?.[1];
    expect(kind).toBeDefined();
    expect(sourceOf(list)).toMatch(new RegExp(`encoders: \\[.*\\b${kind}\\b`));
  });
});

const filesIn = (text: string) =>
  [...text.matchAll(/`([a-z][\w/-]*)\.ts`/g)].map(match => match[1] as string);

function walkOf(title: string): { readonly steps: string; readonly onTheWay: string } {
  const [, text = ''] = architecture.text.split(`\n## A walk: ${title}\n`);
  const [section = ''] = text.split('\n## ');
  const paragraphs = section.split('\n\n');
  const startingWith = (start: string) =>
    paragraphs.find(paragraph => paragraph.trimStart().startsWith(start)) ?? '';
  return { steps: startingWith('1. '), onTheWay: startingWith('These steps also use ') };
}

describe('a list of files on the architecture page', () => {
  const filesOfRun = async (walk: string, input: string, env: NodeJS.ProcessEnv = {}) => {
    // This runs the sources, because a bundle does not show to which file a function belongs.
    const script = path.join(import.meta.dirname, 'source-readme-child.ts');
    const output = path.join(await temporaryFolder(), 'out');
    const child = spawn(process.execPath, ['--import', 'tsx', script, walk, input, output], {
      env: { ...process.env, ...env },
    });
    const { code, stdout, stderr } = await outputOf(child);
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout) as readonly string[];
  };

  it('contains exactly the files that run when stored files are written to a file', async () => {
    const folder = await temporaryFolder();
    const lines = Array.from(
      { length: 100 },
      (_, id) =>
        `{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":${id},"id_str":"${id}","text":"rain"}\n`,
    );
    await writeFile(path.join(folder, 'posts.jsonl.gz'), gzipSync(lines.join('')));
    const called = await filesOfRun('stored', folder);
    const { steps, onTheWay } = walkOf('a stored gzip file to a file');
    const named = filesIn(steps + onTheWay);
    expect(named.toSorted()).toEqual(called.filter(file => !file.startsWith('base/')).toSorted());
    expect(filesIn(steps).length).toBeLessThanOrEqual(40);
  });

  it('contains only files that run in a search into CSV', async () => {
    const service = createService({ limits: 'relaxed' });
    await service.start();
    const called = await filesOfRun('search', '', environmentOf(service.addresses()));
    await service.stop();
    const named = [...new Set(filesIn(walkOf('a search into CSV').steps))];
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(file => !called.includes(file))).toEqual([]);
  });
});

describe('the page test/README.md', () => {
  const page = readFileSync(path.resolve(SOURCE, '../test/README.md'), 'utf8');
  const names = [...page.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

  it('names only tests that exist', () => {
    const files = names.filter(name => /^test\/(?!a\/)/.test(name));
    expect(files.length).toBeGreaterThan(40);
    expect(files.filter(name => !existsSync(path.resolve(SOURCE, '..', name)))).toEqual([]);
  });

  it('lists every test file that is named after neither a source file nor a helper', () => {
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

  it('names only cells of the faults matrix that exist and have trials', () => {
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

/**
 * Returns whether a test is named after a file of `src`, or after a helper next to the test. A
 * topic may follow the name.
 */
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
