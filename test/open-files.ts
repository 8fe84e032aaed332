import { readdirSync, readlinkSync } from 'node:fs';

/** Whether `openFilesBelow` works on this system. */
export const LISTS_OPEN_FILES: boolean = process.platform === 'linux';

/** Returns the paths of the files below a folder that this process has open. */
export function openFilesBelow(folder: string): string[] {
  const paths = readdirSync('/proc/self/fd').map(descriptor => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`);
    } catch {
      // The descriptor that listed this folder is already closed.
      return '';
    }
  });
  return paths.filter(path => path.startsWith(folder));
}
