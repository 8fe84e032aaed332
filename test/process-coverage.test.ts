import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import {
  addScripts,
  type FileCoverage,
  type ScriptCoverage,
  totalsOf,
} from './process-coverage.js';
import { temporaryFolder } from './temporary-folder.js';

const SOURCE = `function pick(count: number): string {
  if (count > 1) return 'many';
  if (count < 0) { return 'none'; } else { return count === 1 ? 'one' : 'zero'; }
}
const unused = (text: string): string => text.trim();
console.log(pick(Number(process.argv[2])), typeof unused);
`;

const at = (line: number, column: number) => ({ start: { line, column } });
/**
 * Creates coverage like Istanbul's. The first branch of an `if` starts at the same position as the
 * `if`. An implicit `else` has no position.
 */
const coverageOf = (file: string): FileCoverage => ({
  path: file,
  statementMap: {
    0: at(2, 2),
    1: at(2, 17),
    2: at(3, 2),
    3: at(3, 19),
    4: at(3, 43),
    5: at(5, 42),
    6: at(6, 0),
  },
  fnMap: { 0: { loc: at(1, 39) }, 1: { loc: at(5, 42) } },
  branchMap: {
    0: { type: 'if', locations: [at(2, 2), { start: {} }] },
    1: { type: 'if', locations: [at(3, 2), at(3, 41)] },
    2: { type: 'cond-expr', locations: [at(3, 64), at(3, 72)] },
  },
  s: { 0: 0, 1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0 },
  f: { 0: 0, 1: 0 },
  b: { 0: [0, 0], 1: [0, 0], 2: [0, 0] },
});

it.each<[string, argument: string, statements: number[], branches: number[][]]>([
  [
    'the first branch',
    '2',
    [1, 1, 0, 0, 0, 0, 1],
    [
      [1, 0],
      [0, 0],
      [0, 0],
    ],
  ],
  [
    'the second branch',
    '-1',
    [1, 0, 1, 1, 0, 0, 1],
    [
      [0, 1],
      [1, 0],
      [0, 0],
    ],
  ],
  [
    'the last branch',
    '0',
    [1, 0, 1, 0, 1, 0, 1],
    [
      [0, 1],
      [0, 1],
      [0, 1],
    ],
  ],
])(
  'the coverage of a child process is mapped from a bundle to its source: %s',
  async (_, argument, s, b) => {
    const folder = await temporaryFolder();
    const [source, bundle, counts] = ['pick.ts', 'pick.mjs', 'counts'].map(name =>
      path.join(folder, name),
    ) as [string, string, string];
    await writeFile(source, SOURCE);
    await build({ entryPoints: [source], outfile: bundle, bundle: true, sourcemap: 'external' });
    await promisify(execFile)(process.execPath, [bundle, argument], {
      env: { ...process.env, NODE_V8_COVERAGE: counts },
    });
    const [name = ''] = await readdir(counts);
    const { result }: { result: ScriptCoverage[] } = JSON.parse(
      await readFile(path.join(counts, name), 'utf8'),
    );
    const map = JSON.parse(await readFile(`${bundle}.map`, 'utf8'));
    const file = coverageOf(source);
    const other = coverageOf(path.join(folder, 'other.ts'));
    const compiled = {
      text: await readFile(bundle, 'utf8'),
      map: { ...map, sources: [source] },
    };
    const added = addScripts(
      [file, other],
      compiled,
      result.filter(({ url }) => url.endsWith('/pick.mjs')),
    );
    expect(Object.values(file.s)).toEqual(s);
    expect(Object.values(file.b)).toEqual(b);
    expect(Object.values(file.f)).toEqual([1, 0]);
    expect(added).toBe([...s, ...b.flat(), 1].filter(count => count === 1).length);
    expect(totalsOf([other]).statements).toEqual({ all: 7, run: 0 });
    expect(totalsOf([file]).functions).toEqual({ all: 2, run: 1 });
  },
);
