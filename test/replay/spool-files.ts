import { readdir, readlink } from 'node:fs/promises';
import path from 'node:path';

/**
 * Returns the temporary files in a folder that this process has not closed yet. On Linux, such a
 * file has no name, and only its descriptor shows that it still exists.
 */
export async function spoolFilesIn(folder: string): Promise<string[]> {
  const named = (await readdir(folder)).map(name => path.join(folder, name));
  const descriptors = await readdir('/proc/self/fd').catch(() => []);
  const open = await Promise.all(
    descriptors.map(name => readlink(`/proc/self/fd/${name}`).catch(() => '')),
  );
  return [...named, ...open].filter(file => file.startsWith(path.join(folder, 'millrace-spool-')));
}
