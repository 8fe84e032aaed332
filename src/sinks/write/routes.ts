import path from 'node:path';
import { DataError } from '../../base/errors.js';
import { aboutStages, kindOf, wrongItem } from '../../flow/wrong-item.js';
import { Activity } from '../../post/activity.js';
import { isTagged } from '../line.js';
import { isZstd, NO_ZSTD, type PathTemplate } from './path-template.js';

/** Which output an item goes to. */
export type Route<T, O> = (item: T, origin: string | undefined) => O;

type Keys = Map<string | number, Keys | object>;

/**
 * Routes by a template. Outputs are kept in a tree keyed by the template's fields, so a path is built only
 * once.
 */
export function routeByTemplate<O extends object>(
  template: PathTemplate,
  open: (path: string) => O,
): Route<unknown, O> {
  if (template.constant) {
    let output: O | undefined;
    return () => {
      output ??= open(template.fill([]));
      return output;
    };
  }
  const root: Keys = new Map();
  const { keys } = template;
  const last = keys.length - 1;
  return (item, origin) => {
    const tagged = isTagged(item) ? item : undefined;
    const activity = tagged?.activity ?? item;
    if (!(activity instanceof Activity)) throw notAPost(item, origin);
    if (tagged === undefined && template.needsTag) throw untagged(origin);
    const tag = tagged?.tag ?? '';
    let at = root;
    for (let level = 0; level < last; level++) {
      const key = (keys[level] as (typeof keys)[0])(activity, tag);
      let below = at.get(key) as Keys | undefined;
      if (below === undefined) {
        below = new Map();
        at.set(key, below);
      }
      at = below;
    }
    const key = (keys[last] as (typeof keys)[0])(activity, tag);
    let output = at.get(key) as O | undefined;
    if (output === undefined) {
      output = open(template.fill(keys.map(keyOf => keyOf(activity, tag))));
      at.set(key, output);
    }
    return output;
  };
}

/** Routes by the caller's function; `..` in its names is refused. */
export function routeByFunction<T, O>(
  pathOf: (item: T) => string,
  finish: (path: string) => string,
  open: (path: string) => O,
): Route<T, O> {
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
  if (isZstd(name)) throw refused(`${shown}: ${NO_ZSTD}`);
  const normal = path.normalize(name);
  // The key in `outputs` where they are equal, so that the copy can be freed.
  return normal === name ? name : normal;
}

function notAPost(item: unknown, origin: string | undefined): DataError {
  return wrongItem(item, {
    need: 'The fields of `path` need activities',
    reads: 'activities',
    or: 'pass a function as `path`',
    origin,
  });
}

export function untagged(origin: string | undefined): DataError {
  return aboutStages(
    new DataError(
      'The field {tag} of `path` needs routeByTag() before the sink: one activity may have many tags',
      { position: { origin } },
    ),
  );
}
