import path from 'node:path';
import { StorageError } from '../base/errors.js';
import type { FileSystem, OpenFile } from './file-system.js';

/**
 * Makes a path absolute. Calls do this once, at the start, because the working folder may change or be
 * deleted.
 *
 * @throws StorageError where the path is relative and the working folder is gone.
 */
export function absolutePath(file: string): string {
  return path.isAbsolute(file) ? path.normalize(file) : path.join(workingFolder(file), file);
}

/** A file system that resolves relative paths against `folder`. */
export function fileSystemIn<File extends OpenFile>(
  folder: string,
  fs: FileSystem<File>,
): FileSystem<File> {
  const at = (file: string) => (path.isAbsolute(file) ? file : path.join(folder, file));
  return {
    open: (file, flags, mode) => fs.open(at(file), flags, mode),
    readFile: (file, encoding) => fs.readFile(at(file), encoding),
    rename: (from, to) => fs.rename(at(from), at(to)),
    unlink: file => fs.unlink(at(file)),
    mkdir: (folderPath, mode) => fs.mkdir(at(folderPath), mode),
    lstat: file => fs.lstat(at(file)),
  };
}

/** The current working folder; `file` is named in the error. */
export function workingFolder(file = '.'): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new StorageError(
      `Could not find ${file}: the working folder of the process is gone. Start it in an existing folder, or pass an absolute path`,
      { path: file, cause },
    );
  }
}
