import { isUtf8 } from 'node:buffer';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { refusePromise } from '../base/abortable.js';
import { StorageError } from '../base/errors.js';
import { firstBytes } from './file-system.js';
import { NOT_UTF8, withAnyStorageError } from './storage-error.js';

const DOT = 0x2e;
const SLASH = Buffer.from('/');

/**
 * Returns the option `match` of a call, but refuses a promise as its result. A promise is truthy and would
 * select every file.
 */
export function checkedMatch(
  call: string,
  match: (name: string) => boolean,
): (name: string) => boolean {
  return name => {
    const answer = match(name);
    refusePromise(call, 'match', answer, 'must return true or false, got a promise');
    return answer;
  };
}

export interface FilesBelowOptions {
  /**
   * Selects files by their path below the folder, with `/` as the separator. `isRegular` is false for a
   * symbolic link.
   */
  readonly match: (name: string, isRegular: boolean) => boolean;
  /**
   * Whether to search folders whose names begin with a dot.
   * @default false
   */
  readonly hiddenFolders?: boolean;
}

/**
 * Returns the matching files of a folder and its subfolders, as sorted paths below the folder, with `/` as
 * the separator. Skips files whose names begin with a dot. Does not follow links to folders, because they
 * could form a loop.
 *
 * @throws StorageError If a folder cannot be read, or a matching path is not UTF-8. Node decodes a path that
 * is not UTF-8 to a string that opens no file, or the wrong file.
 */
export async function filesBelow(folder: string, options: FilesBelowOptions): Promise<string[]> {
  return (await collect(folder, Buffer.alloc(0), options)).sort();
}

async function collect(
  folder: string,
  below: Buffer,
  options: FilesBelowOptions,
): Promise<string[]> {
  const here = Buffer.concat([Buffer.from(folder + path.sep), below]);
  const before = String(below);
  const entries = await withAnyStorageError('read', path.join(folder, before), () =>
    readdir(here, { encoding: 'buffer', withFileTypes: true }),
  );
  const found: string[] = [];
  // Subfolders are searched only after the loop. If a search were already running when the loop throws,
  // nothing would handle its rejection.
  const folders: Buffer[] = [];
  for (const entry of entries) {
    const name = before + String(entry.name);
    const bytes = () => Buffer.concat([below, entry.name]);
    const isHidden = entry.name[0] === DOT;
    if (entry.isDirectory()) {
      if (options.hiddenFolders === true || !isHidden)
        folders.push(Buffer.concat([bytes(), SLASH]));
    } else if (!isHidden && options.match(name, entry.isFile())) {
      if (name.includes(NOT_UTF8) && !isUtf8(bytes())) throw notUtf8(folder, bytes());
      found.push(name);
    }
  }
  const inFolders = await Promise.all(folders.map(inner => collect(folder, inner, options)));
  return [...found, ...inFolders.flat()];
}

function notUtf8(folder: string, name: Buffer): StorageError {
  const escaped = name
    .toString('latin1')
    .replace(/[^ -~]|[\\']/g, byte => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
  const guess = new TextDecoder('windows-1252').decode(name);
  return new StorageError(
    `The name of a file in ${folder} is not UTF-8: $'${escaped}', in Windows-1252 ${JSON.stringify(guess)}. Rename it, such as by convmv -f cp1252 -t utf8`,
    { path: path.join(folder, escaped) },
  );
}

/**
 * Matches the start of every checkpoint that any version of `sinks/commit/checkpoint-text.ts` has printed.
 */
const START = /^\{\n {2}"version": \d+,\n {2}"state": "/;

/**
 * Returns whether a path that ends in `.json` is the checkpoint of a sink that writes files. Checkpoints
 * contain no posts, but they are often in the same folder as files of posts, and may have any name.
 */
export async function isCheckpointFile(file: string): Promise<boolean> {
  if (!/\.json$/i.test(file)) return false;
  return START.test((await firstBytes(file, 64)).toString('latin1'));
}

const POSTS = 'json|jsonl|ndjson';
const COMPRESSED = 'gz|zst';

/**
 * Matches the names of files with one post per line, plain or compressed. For example, matches `x.jsonl` and
 * `x.json.gz`, but not `x.csv.gz`.
 */
export const STORED_POSTS = new RegExp(`\\.(${POSTS})(\\.(${COMPRESSED}))?$`, 'i');

/**
 * Matches the same names as `STORED_POSTS`, and the names of all compressed files. The pattern is part of the
 * identity of `localFiles`: if it changes, existing cursors are refused.
 */
export const STORED_FILES = new RegExp(`\\.(${COMPRESSED}|${POSTS})$`, 'i');
