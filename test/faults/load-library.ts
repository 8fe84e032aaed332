import { pathToFileURL } from 'node:url';
import type { Setting } from './part.js';

/** The library's public exports, from the folder of the run. */
export function loadLibrary({
  library,
}: Pick<Setting, 'library'>): Promise<typeof import('millrace')> {
  return import(new URL('index.js', library).href);
}

/** A folder of the command line as `Setting.library`. */
export function libraryUrl(folder: string): URL {
  return pathToFileURL(`${folder.replace(/[/\\]+$/, '')}/`);
}
