import path from 'node:path';
import { DataError } from '../../base/errors.js';
import { kindOf } from '../../flow/wrong-item.js';
import { endsInZstd, NO_ZSTD, type PickOutput } from './path-template.js';

export function withSuffix(file: string, suffix: string): string {
  return file.toLowerCase().endsWith(suffix) ? file : file + suffix;
}

/** Routes each item to the path that the caller's function returns. Refuses names with `..`. */
export function routeByFunction<T, O>(
  pathOf: (item: T) => string,
  finish: (path: string) => string,
  open: (path: string) => O,
): PickOutput<T, O> {
  const outputs = new Map<string, O>();
  return (item, origin) => {
    const name = pathOf(item);
    let output = outputs.get(name);
    if (output === undefined) {
      output = open(finish(checked(name, origin)));
      outputs.set(name, output);
    }
    return output;
  };
}

function checked(name: unknown, origin: string | undefined): string {
  const refused = (fault: string) =>
    new DataError(`The option \`path\` returned ${fault}`, { position: { origin } });
  if (typeof name !== 'string') throw refused(`${kindOf(name)}, not text`);
  const shown = JSON.stringify(name);
  if (name === '' || /[/\\]$/.test(name)) throw refused(`${shown}, which names no file`);
  if (name.includes('\0')) throw refused(`${shown}, which holds a NUL`);
  if (name.split(/[/\\]/).includes('..'))
    throw refused(`${shown}, which leaves its folder; wrap values from posts in safeName()`);
  if (endsInZstd(name)) throw refused(`${shown}: ${NO_ZSTD}`);
  const normal = path.normalize(name);
  // If both strings are equal, returns the one that is already a key of `outputs`. The copy can then be freed.
  return normal === name ? name : normal;
}
