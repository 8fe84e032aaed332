import { crc32 } from 'node:zlib';
import { optionError } from '../base/check.js';

/** The maximum number of subjects of a stream. */
export const MAX_SUBJECTS = 256;

/** The subjects of a stream, such as `posts.0` to `posts.7`; of several prefixes, those of one after the other. */
export function subjectsOf(prefixes: readonly string[], count: number): string[] {
  return prefixes.flatMap(one => Array.from({ length: count }, (_, index) => `${one}.${index}`));
}

/** The topic of items that belong to none of those that are given. */
const OTHER = 'other';

/**
 * The prefixes of the subjects of a stream: `posts`, or with topics one of each, such as `posts.en`, and at the end
 * `posts.other`. They are in one order, whatever the order of the option, as positions are kept by the number of a subject.
 */
export function prefixesOf(prefix: string, topics?: readonly string[]): string[] {
  if (topics === undefined) return [prefix];
  return [...topics.toSorted(), OTHER].map(topic => `${prefix}.${topic}`);
}

/** What is wrong with the topics of a stream. */
export function topicsProblem(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isWord))
    return 'must be an array of words of letters, digits, `-` and `_`, such as languages';
  if (value.includes(OTHER)) return `must not have \`${OTHER}\`: it is that of all other items`;
  return new Set(value).size === value.length ? undefined : 'must not have a topic twice';
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]{1,64}$/.test(value);
}

/**
 * How many subjects of this prefix a stream has, with `topics` of each topic; `undefined` where they are not
 * `posts.0` to `posts.N-1`.
 */
export function countSubjects(
  prefix: string,
  subjects: readonly string[],
  topics?: readonly string[],
): number | undefined {
  const ours = new Set(subjects.filter(subject => subject.startsWith(`${prefix}.`)));
  const prefixes = prefixesOf(prefix, topics);
  const count = ours.size / prefixes.length;
  if (count < 1 || !Number.isInteger(count)) return undefined;
  return subjectsOf(prefixes, count).every(subject => ours.has(subject)) ? count : undefined;
}

/**
 * The number of the subject that a post goes to: by a checksum of its id, so all posts of an id are on one subject.
 *
 * @param count How many subjects all topics have together.
 * @param topic The number of the post's topic, of `topics`.
 */
export function subjectNumber(id: string, count: number, topic = 0, topics = 1): number {
  const each = count / topics;
  return topic * each + (crc32(id) % each);
}

/**
 * The number of an item's topic, by the order of their subjects.
 *
 * @throws OptionError
 */
export function checkTopics<T>(
  call: string,
  topics: readonly string[] | undefined,
  topic: ((item: T) => string | undefined) | undefined,
  shards = 1,
): ((item: T) => number) | undefined {
  if (topics === undefined && topic === undefined) return undefined;
  if (topics === undefined)
    throw optionError(call, 'topics', 'is missing: `topic` says of which of them an item is');
  if (topic === undefined)
    throw optionError(call, 'topic', 'is missing: it says which of `topics` an item is of');
  const subjects = (topics.length + 1) * shards;
  if (subjects > MAX_SUBJECTS)
    throw optionError(
      call,
      'topics',
      `are ${topics.length} and the others, with ${shards} subjects each: a stream has at most ${MAX_SUBJECTS}. Pass fewer, or fewer \`create.shards\``,
    );
  const numbers = new Map(topics.toSorted().map((name, number) => [name, number]));
  return item => numbers.get(topic(item) ?? '') ?? topics.length;
}
