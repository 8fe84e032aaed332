import path from 'node:path';
import { optionError } from '../../base/check.js';
import { DataError } from '../../base/errors.js';
import { isTagged } from '../../flow/line.js';
import { aboutStages, wrongItem } from '../../flow/wrong-item.js';
import { Activity } from '../../post/activity.js';
import { POST_KEYS, type PostKey } from '../../post/post-keys.js';
import { MIN_NAME_BYTES, percent, safeName } from './safe-name.js';

/** A field of a path template. In the template, it is written in `{}`. */
export type PathField = PostKey | 'tag';

export interface PathTemplate {
  readonly constant: boolean;
  /** Whether the path needs a tag, which only `routeByTag` provides. */
  readonly needsTag: boolean;
  readonly fields: readonly PathField[];
  /**
   * For each field, a function that returns the value of the field. Outputs are looked up by these values,
   * because they are cheaper to compare than paths.
   */
  readonly keys: readonly ((activity: Activity, tag: string) => string | number)[];
  /**
   * Returns the path for the values of the fields. The path never leads out of the folder at the start of the
   * template.
   */
  fill(keys: readonly (string | number)[]): string;
}

interface Field {
  key(activity: Activity, tag: string): string | number;
  text(key: string | number): string;
}

/**
 * The maximum length of a name in common file systems, in bytes, minus space for `.0001`, `.gz` and `.part`.
 */
const LONGEST_NAME = 255 - 20;

const FIELDS: Readonly<Record<PathField, Field>> = {
  author: { key: POST_KEYS.author, text: String },
  day: { key: POST_KEYS.day, text: timeText(10) },
  format: { key: POST_KEYS.format, text: String },
  hour: { key: POST_KEYS.hour, text: timeText(13) },
  id: { key: POST_KEYS.id, text: String },
  lang: { key: POST_KEYS.lang, text: String },
  minute: { key: POST_KEYS.minute, text: timeText(16) },
  month: {
    key: POST_KEYS.month,
    text: key =>
      `${Math.floor(Number(key) / 12)}-${String((Number(key) % 12) + 1).padStart(2, '0')}`,
  },
  segment: { key: POST_KEYS.segment, text: timeText(16) },
  tag: { key: (_, tag) => tag, text: String },
};

/**
 * Parses a template such as `out/{tag}/{day}.jsonl`. Throws an `OptionError` if it is invalid.
 *
 * @param writesZstd Whether the files are compressed with zstd.
 */
export function parsePathTemplate(
  call: string,
  template: string,
  writesZstd = false,
): PathTemplate {
  const parts = path.normalize(template).split(/\{([^{}]*)\}/);
  const names = parts.filter((_, index) => index % 2 === 1).map(name => fieldName(call, name));
  const literals = parts.filter((_, index) => index % 2 === 0);
  checkLiterals(call, template, literals, writesZstd);
  const limits = nameLimits(call, template, literals);
  const fields = names.map(name => FIELDS[name]);
  return {
    constant: fields.length === 0,
    needsTag: names.includes('tag'),
    fields: names,
    keys: fields.map(field => field.key),
    fill: keys =>
      literals.reduce((filled, literal, index) => {
        const field = fields[index - 1] as Field;
        const text = field.text(keys[index - 1] as string | number);
        const limit = limits[index - 1] as number;
        const isPartition = /=[^/\\]*$/.test(filled);
        const name = isPartition ? partitionName(text, limit) : safeName(text, limit);
        return filled + name + literal;
      }),
  };
}

/**
 * Readers of datasets take some partition values, such as `null`, for NULL. Matches the first character of
 * these values. Readers compare a value before they decode it, so percent-encoding this character, as in
 * `%6Eull`, prevents the mistake. DuckDB ignores the case.
 */
const READ_AS_NULL = /^(?:n(?=ull$)|_(?=_hive_default_partition__$))/i;

/**
 * Matches a lone surrogate as `safeName` writes it. DuckDB refuses a dataset with such a name, because it is
 * not valid UTF-8 after decoding.
 */
const LONE_SURROGATE = /%ED%([AB][\dA-F])%([89AB][\dA-F])/g;

/**
 * Encodes the value in the name of a partition, such as `snow` in `tag=snow`. Readers of datasets expect one
 * `=` in each name, so any further `=` is escaped.
 */
function partitionName(text: string, limit: number): string {
  const longer = (text.match(/[=\p{Cs}]/gu) ?? []).length;
  return safeName(text, Math.max(MIN_NAME_BYTES, limit - 2 * longer))
    .replaceAll('=', '%3D')
    .replace(READ_AS_NULL, percent)
    .replace(LONE_SURROGATE, escapeOf);
}

/**
 * Returns the file name for a lone surrogate: an escape such as `\ud800`, with `\` and `u` percent-encoded. A
 * tag with the literal text `\ud800` gets a different name, because `safeName` encodes only its `\`.
 */
function escapeOf(_: string, ...bytes: readonly string[]): string {
  const [high = 0, low = 0] = bytes.map(byte => Number.parseInt(byte, 16) & 0x3f);
  return `%5C%75${(0xd000 | (high << 6) | low).toString(16)}`;
}

/**
 * Returns a function that formats the first `length` characters of a time (UTC): `2024-03-05`,
 * `2024-03-05T14` or `2024-03-05T14-07`.
 */
function timeText(length: number): (key: string | number) => string {
  return key => new Date(key).toISOString().slice(0, length).replace(':', '-');
}

function fieldName(call: string, name: string): PathField {
  if (Object.hasOwn(FIELDS, name)) return name as PathField;
  const known = Object.keys(FIELDS).join(', ');
  throw optionError(call, 'path', `has the unknown field {${name}}; known are ${known}`);
}

/**
 * Part of the message for a name that ends in `.zst` if files are not compressed with zstd. Such a name is
 * refused, because a reader would try to decompress the file.
 */
export const NO_ZSTD = 'files are written plain or as gzip, so use .gz';

export function endsInZstd(name: string): boolean {
  return /\.zstd?$/i.test(name);
}

function checkLiterals(
  call: string,
  template: string,
  literals: readonly string[],
  writesZstd: boolean,
): void {
  const must = ruleBrokenBy(literals, writesZstd);
  if (must !== undefined)
    throw optionError(call, 'path', `must ${must}, got ${JSON.stringify(template)}`);
}

function ruleBrokenBy(literals: readonly string[], writesZstd: boolean): string | undefined {
  const last = literals.at(-1) as string;
  const isFixed = literals.length === 1;
  if (isFixed && /[/\\]$|^\.{1,2}$/.test(last)) return 'name a file';
  if (/[/\\]$/.test(last)) return 'name a file, not a folder';
  if (literals.some(literal => /[{}]/.test(literal))) return 'close every { with a }';
  if (literals.some(literal => literal.includes('\0'))) return 'hold no NUL';
  if (/\.part$/i.test(last)) return 'not end in .part, which files that are being written end in';
  if (endsInZstd(last) && !writesZstd) return `not end in .zst: ${NO_ZSTD}`;
  return undefined;
}

/**
 * Returns the maximum size of each field's value in bytes. With these limits, every name in the path is short
 * enough for the file system.
 */
function nameLimits(call: string, template: string, literals: readonly string[]): number[] {
  const marked = literals.join('\0').split(path.sep);
  return marked.flatMap(name => {
    const parts = name.split('\0');
    const free = LONGEST_NAME - Buffer.byteLength(parts.join(''));
    const each = Math.floor(free / Math.max(1, parts.length - 1));
    if (parts.length === 1 ? free < 0 : each < MIN_NAME_BYTES)
      throw optionError(call, 'path', `must have shorter names, got ${JSON.stringify(template)}`);
    return parts.slice(1).map(() => each);
  });
}

export type FileSinkName = 'files' | 'csv' | 'parquet';

const SINKS: Readonly<
  Record<FileSinkName, { readonly writes: string; readonly extensions: readonly string[] }>
> = {
  files: { writes: 'lines', extensions: ['jsonl', 'ndjson', 'json'] },
  csv: { writes: 'CSV', extensions: ['csv'] },
  parquet: { writes: 'Parquet', extensions: ['parquet'] },
};

export interface PathExtension {
  /**
   * The extension in lower case without its dot, such as `csv` for `posts.CSV.gz`. Absent if the name has no
   * extension.
   */
  readonly extension: string | undefined;
  readonly sink: FileSinkName | undefined;
  readonly compression: string | undefined;
}

export function pathExtension(path: string): PathExtension {
  const [, name = path, compression] = /^(.*?)(\.gz|\.zst)?$/is.exec(path) ?? [];
  const extension = /\.([^./\\}]*)$/.exec(name)?.[1]?.toLowerCase();
  const sinks = Object.keys(SINKS) as FileSinkName[];
  const sink = sinks.find(sink => SINKS[sink].extensions.includes(extension ?? ''));
  return { extension, sink, compression };
}

/**
 * Returns why a sink cannot write to a path with this extension. The caller puts the name of the option before
 * this text. Ignores a compression extension: `posts.csv.gz` is CSV.
 *
 * @param makesLines Whether a function of the caller creates the lines. Such lines may be CSV or JSON, but
 * not Parquet.
 */
export function extensionProblem(
  sink: string,
  path: string,
  makesLines = false,
): string | undefined {
  if (!isFileSinkName(sink)) return undefined;
  const { extension, sink: meant = sink } = pathExtension(path);
  if (meant === sink || (makesLines && meant !== 'parquet')) return undefined;
  return `must not end in .${extension}: ${sink}() writes ${SINKS[sink].writes}. Use ${meant}(), or another extension`;
}

function isFileSinkName(name: string): name is FileSinkName {
  return Object.hasOwn(SINKS, name);
}

export function untagged(origin: string | undefined): DataError {
  return aboutStages(
    new DataError(
      'The field {tag} of `path` needs routeByTag() before the sink: one activity may have many tags',
      { position: { origin } },
    ),
  );
}

export type PickOutput<T, O> = (item: T, origin: string | undefined) => O;

type Keys = Map<string | number, Keys | object>;

/**
 * Returns a function that picks the output of an item by the fields of the template. The outputs are cached
 * in a tree by the values of these fields, so that a path is not built again for each item.
 */
export function routeByTemplate<O extends object>(
  template: PathTemplate,
  open: (path: string) => O,
): PickOutput<unknown, O> {
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

function notAPost(item: unknown, origin: string | undefined): DataError {
  return wrongItem(item, {
    need: 'The fields of `path` need activities',
    reads: 'activities',
    or: 'pass a function as `path`',
    origin,
  });
}
