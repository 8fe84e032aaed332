import { isUtf8 } from 'node:buffer';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { StorageError } from '../base/errors.js';
import { firstBytes } from './file-system.js';
import { NOT_UTF8, withAnyStorageError } from './storage-error.js';

const DOT = 0x2e;
const SLASH = Buffer.from('/');

export interface FilesBelowOptions {
  /** Selects files by their path below the folder, with `/` as the separator. `isRegular` is false for a link. */
  readonly match: (name: string, isRegular: boolean) => boolean;
  /**
   * Whether to search folders whose names begin with a dot.
   * @default false
   */
  readonly hiddenFolders?: boolean;
}

/**
 * The files of a folder and its subfolders that match, as paths below the folder with `/`, sorted. Skips
 * files whose names begin with a dot. Does not follow links to folders, because they could form a loop.
 *
 * @throws StorageError If a folder cannot be read, or a matching path is not UTF-8. Node decodes such a path
 * to a string that opens no file, or a different file.
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
  const found: (string | Promise<string[]>)[] = [];
  for (const entry of entries) {
    const name = before + String(entry.name);
    const bytes = () => Buffer.concat([below, entry.name]);
    const isHidden = entry.name[0] === DOT;
    if (entry.isDirectory()) {
      if (options.hiddenFolders === true || !isHidden)
        found.push(collect(folder, Buffer.concat([bytes(), SLASH]), options));
    } else if (!isHidden && options.match(name, entry.isFile())) {
      if (name.includes(NOT_UTF8) && !isUtf8(bytes())) throw notUtf8(folder, bytes());
      found.push(name);
    }
  }
  return (await Promise.all(found)).flat();
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

/** The start of the text that every version of `sinks/commit/checkpoint-text.ts` prints. */
const START = /^\{\n {2}"version": \d+,\n {2}"state": "/;

/**
 * Whether a regular file that ends in `.json` is a checkpoint of a sink that writes files. Checkpoints often
 * lie among files of posts, under any name, but contain no posts.
 */
export async function isCheckpointFile(file: string): Promise<boolean> {
  if (!/\.json$/i.test(file)) return false;
  return START.test((await firstBytes(file, 64)).toString('latin1'));
}

const POSTS = 'json|jsonl|ndjson';
const COMPRESSED = 'gz|zst';

/**
 * Matches names of files with one post per line, plain or compressed, such as `x.jsonl` and `x.json.gz`, but
 * not `x.csv.gz`.
 */
export const STORED_POSTS = new RegExp(`\\.(${POSTS})(\\.(${COMPRESSED}))?$`, 'i');

/**
 * Matches the same names, and names of compressed files with any content. The pattern is part of the identity
 * of `localFiles`: if it changes, existing cursors are refused.
 */
export const STORED_FILES = new RegExp(`\\.(${COMPRESSED}|${POSTS})$`, 'i');
