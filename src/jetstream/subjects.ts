import { crc32 } from 'node:zlib';

/** The maximum number of subjects of a stream. */
export const MAX_SUBJECTS = 256;

/** The subjects of a stream: `posts.0` to `posts.7`. */
export function subjectsOf(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}.${index}`);
}

/** How many subjects of this prefix a stream has; `undefined` where they are not `posts.0` to `posts.N-1`. */
export function countSubjects(prefix: string, subjects: readonly string[]): number | undefined {
  const ours = new Set(subjects.filter(subject => subject.startsWith(`${prefix}.`)));
  const isWhole = subjectsOf(prefix, ours.size).every(subject => ours.has(subject));
  return ours.size > 0 && isWhole ? ours.size : undefined;
}

/** The number of the subject that has a post: by a checksum of its id, so that all posts of an id are together. */
export function subjectNumber(id: string, count: number): number {
  return crc32(id) % count;
}
