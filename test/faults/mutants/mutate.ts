import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { transform } from 'esbuild';
import type { Mutant } from './mutant.js';

/** The text with the mistake. Throws where the text does not have the place, or has it twice. */
export function mutated(text: string, { name, file, from, to }: Mutant): string {
  const count = text.split(from).length - 1;
  if (count !== 1)
    throw new Error(
      `The mutant "${name}" no longer applies: ${file} has ${JSON.stringify(from)} ${count} times, not once`,
    );
  return text.replace(from, () => to);
}

/** Copies a compiled library to `target`, with the mistake of a mutant or without any. */
export async function copyLibrary(
  library: string,
  target: string,
  mutant: Mutant | undefined,
): Promise<URL> {
  await rm(target, { recursive: true, force: true });
  await mkdir(path.dirname(target), { recursive: true });
  await cp(library, target, { recursive: true });
  if (mutant !== undefined) {
    const source = await readFile(path.resolve('src', `${mutant.file}.ts`), 'utf8');
    const { code } = await transform(mutated(source, mutant), { loader: 'ts', target: 'es2023' });
    await writeFile(path.join(target, `${mutant.file}.js`), code);
  }
  return pathToFileURL(`${target}/`);
}
