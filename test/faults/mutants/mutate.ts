import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { transform } from 'esbuild';
import type { Mutant } from './mutant.js';

/** The text with the mistake. Throws where the text does not have the place, or has it twice. */
export function mutated(text: string, { name, file, from, to }: Mutant): string {
  const found = [...text.matchAll(placeOf(from))];
  const [place, ...more] = found;
  if (place === undefined || more.length > 0)
    throw new Error(
      `The mutant "${name}" no longer applies: ${file}.ts has ${JSON.stringify(from)} ${found.length} times, not once`,
    );
  const [whole, ...left] = place;
  const parts = to.split('…');
  const mistake = parts.map((part, index) => (index === 0 ? part : `${left[index - 1]}${part}`));
  return `${text.slice(0, place.index)}${mistake.join('')}${text.slice(place.index + whole.length)}`;
}

const GAP = '(?:\\s|//[^\\n]*\\n)';
/** Text without a semicolon in which each round bracket is closed, to a depth of three. */
const INNER = [1, 2, 3].reduce(inner => `(?:[^;()]|\\(${inner}*\\))`, '[^;()]');

/** Finds code however it is formatted: with other white space, comments at the ends of lines, other quotes and a trailing comma. */
function placeOf(code: string): RegExp {
  const plain = code.replace(/,(?=\s*[)\]}])/g, '');
  const tokens = plain.match(/…|[\w$#]+|[^\s\w$#…]/g) ?? [];
  const isWord = (token: string | undefined) => /^[\w$#]/.test(token ?? '');
  const pattern = tokens.map((token, index) => {
    const between = isWord(token) && isWord(tokens[index - 1]) ? '+' : '*';
    const before = index === 0 ? '' : `${GAP}${between}`;
    if (token === '…') return `${before}(${INNER}*?)`;
    const comma = /[)\]}]/.test(token) ? `(?:,${GAP}*)?` : '';
    const escaped = /['"`]/.test(token) ? `['"\`]` : token.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
    return `${before}${comma}${escaped}`;
  });
  const start = isWord(tokens[0]) ? '(?<![\\w$#])' : '';
  const end = isWord(tokens.at(-1)) ? '(?![\\w$])' : '';
  return new RegExp(`${start}${pattern.join('')}${end}`, 'g');
}

/** The source of the file, with the mistake, as JavaScript. */
export async function compiledMutant(source: string, mutant: Mutant): Promise<string> {
  const text = await readFile(path.join(source, `${mutant.file}.ts`), 'utf8');
  const { code } = await transform(mutated(text, mutant), { loader: 'ts', target: 'es2023' });
  return code;
}

/** Copies a compiled library to `target`, with the mistake of a mutant of `source` or without any. */
export async function copyLibrary(
  library: string,
  target: string,
  mutant: Mutant | undefined,
  source = path.resolve('src'),
): Promise<URL> {
  await rm(target, { recursive: true, force: true });
  await mkdir(path.dirname(target), { recursive: true });
  await cp(library, target, { recursive: true });
  if (mutant !== undefined)
    await writeFile(path.join(target, `${mutant.file}.js`), await compiledMutant(source, mutant));
  return pathToFileURL(`${target}/`);
}
