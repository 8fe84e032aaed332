import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { floorTo, SECOND, type Window } from '../../../src/base/time.js';
import type { Activity } from '../../../src/post/activity.js';
import type { Archive, ArchivedPost } from '../../../src/service/archive/archive.js';
import { openFolderArchive } from '../../../src/service/archive/folder/folder-archive.js';
import { afterTests } from '../../after-tests.js';
import { temporaryFolder } from '../../temporary-folder.js';

export const ALWAYS: Window = { from: Date.UTC(2000, 0, 1), to: Date.UTC(2040, 0, 1) };

/** Returns the last line of a job file. */
export const infoLine = (count: number) =>
  `{"info":{"message":"Replay Request Completed","sent":"2024-05-01T00:00:00+00:00","activity_count":${count}}}`;

export function jobFile(activities: readonly Activity[]): Buffer {
  const lines = activities.map(activity => `${activity.raw}\n`);
  return gzipSync(`${lines.join('')}\n${infoLine(activities.length)}\n`);
}

export function archiveFolders() {
  const archives: Archive[] = [];
  afterTests(async () => {
    for (const archive of archives.splice(0)) await archive.close();
  });
  return {
    async make(files: Readonly<Record<string, string | Buffer>>): Promise<string> {
      const folder = await temporaryFolder();
      await addFiles(folder, files);
      return folder;
    },
    async open(...args: Parameters<typeof openFolderArchive>): Promise<Archive> {
      const archive = await openFolderArchive(...args);
      archives.push(archive);
      return archive;
    },
  };
}

export async function addFiles(
  folder: string,
  files: Readonly<Record<string, string | Buffer>>,
): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), content);
  }
}

export async function scanAll(archive: Archive, window = ALWAYS): Promise<ArchivedPost[]> {
  const posts: ArchivedPost[] = [];
  for await (const segment of archive.scan(window)) posts.push(...segment.posts);
  return posts;
}

export function archivedPost(activity: Activity): ArchivedPost {
  return { at: floorTo(SECOND, activity.postedAt.getTime()), id: activity.id, activity };
}

/** Returns a short summary of a post, to keep failure messages readable. */
export const print = (activity: Activity) =>
  `${activity.id} ${createHash('md5').update(activity.raw).digest('base64')}`;

export const shown = ({ at, id, activity }: ArchivedPost) => `${at} ${id} ${print(activity)}`;
