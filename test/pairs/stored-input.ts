import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Row } from './covering-rows.js';

export interface Post {
  readonly id: string;
  readonly raw: string;
  readonly text: string;
  readonly author: string;
  readonly day: string;
  readonly tags: readonly string[];
  readonly withheld?: boolean;
}

/** A line that is not a post. `by` is the stage that reports it. */
interface Other {
  readonly raw: string;
  readonly by: 'jsonLines' | 'activities' | 'message';
}

type Line = Post | Other;

export interface StoredFile {
  /** The path relative to the input folder. */
  readonly name: string;
  readonly lines: readonly Line[];
  /** Whether the file is added after the first complete run. */
  readonly isLater?: boolean;
}

export const DELETED = ['1234567890123456701', '1234567890123456711'];
/** The id of an earlier version of a post, and the id of the version that has replaced it. */
export const EDITED = ['1234567890123456702', '1234567890123456712'];

const TEXTS = [
  'snow ☃️ 👩‍👩‍👧',
  'rain "quoted", and more',
  '=1+1 snow',
  'sun\nand wind 🎉',
  'rain and snow',
];
const TAGS = [[], ['snow'], ['snow', 'rain'], []] as const;

function post(number: number): Post {
  const id = `12345678901234567${String(number).padStart(2, '0')}`;
  const text = TEXTS[number % TEXTS.length]!;
  const tags = TAGS[number % TAGS.length]!;
  const author = `author${number % 3}`;
  const day = number % 2 === 0 ? '2024-01-01' : '2024-01-02';
  const rules = tags.map(tag => ({ tag, id: null }));
  const common = { id, text, author, day, tags };
  if (number % 3 === 1) {
    const raw = `{"id":"tag:search.twitter.com,2005:${id}","objectType":"activity","verb":"post","postedTime":"${day}T10:00:00.000Z","body":${JSON.stringify(text)},"actor":{"id":"id:twitter.com:${number % 3}","preferredUsername":"${author}","displayName":"n"}${tags.length === 0 ? '' : `,"gnip":{"matching_rules":${JSON.stringify(rules)}}`}}`;
    return { ...common, raw };
  }
  const withheld = number === 5;
  const time = number % 2 === 0 ? 'Mon Jan 01' : 'Tue Jan 02';
  const raw = `{"created_at":"${time} 10:00:00 +0000 2024","id":${id},"id_str":"${id}","text":${JSON.stringify(text)},"user":{"id":${number % 3},"id_str":"${number % 3}","screen_name":"${author}","name":"n"}${withheld ? ',"withheld_in_countries":["DE"]' : ''}${tags.length === 0 ? '' : `,"matching_rules":${JSON.stringify(rules)}`}}`;
  return { ...common, raw, withheld };
}

/** Creates a post that exceeds the size limits in stored-values.ts. */
function large(number: number, more: string): Post {
  const usual = post(number);
  return { ...usual, raw: usual.raw.replace('"user":', `${more},"user":`) };
}

export const isPost = (line: Line): line is Post => 'id' in line;

export function hasDamagedFile(row: Row): boolean {
  return Object.entries(row).some(([key, value]) => key.endsWith('.damaged') && value === 'given');
}

/**
 * Returns the input files for these options. If there are two folders, their files have the same
 * names. The input is damaged only in ways that the options allow.
 */
export function storedFiles(row: Row): StoredFile[] {
  const keeps = hasDamagedFile(row);
  const takesLines = keeps || row['jsonLines.onDamaged'] === 'given';
  const takesPosts = keeps || row['activities.onDamaged'] === 'given';
  const longer = large(20 * 3, `"x":"${'x'.repeat(2000)}"`);
  const deeper = large(21 * 3, `"x":${'['.repeat(12)}${']'.repeat(12)}`);
  const limited = (line: Post, option: string): Line[] => {
    if (row[option] === 'not given') return [line];
    return takesLines ? [{ raw: line.raw, by: 'jsonLines' }] : [];
  };
  const torn: Line[] = takesLines ? [{ raw: '{"id_str":"7', by: 'jsonLines' }] : [];
  const idless: Line[] = takesPosts ? [{ raw: '{"text":"no id"}', by: 'activities' }] : [];
  const info: Line = { raw: '{"info":{"message":"Replay Request Completed"}}', by: 'message' };
  const plain =
    row['gunzip.plain'] === 'pass'
      ? [{ name: 'a/20240101/0030.jsonl', lines: [post(30), post(31)] }]
      : [];
  return [
    { name: 'a/20240101/0000.json.gz', lines: [post(0), post(1), post(2), ...torn, post(3)] },
    {
      name: 'a/20240101/0010.json.gz',
      lines: [post(4), post(1), ...idless, ...limited(longer, 'jsonLines.maxBytes'), post(5)],
    },
    { name: 'a/20240101/0015.json.gz', lines: [post(40)], isLater: true },
    { name: 'a/20240101/0020.json.gz', lines: [post(6), post(6), post(7), info] },
    ...plain,
    { name: 'b/20240101/0000.json.gz', lines: [post(8), post(0), post(9), post(11), post(12)] },
    {
      name: 'b/20240101/0010.json.gz',
      lines: [...limited(deeper, 'jsonLines.maxDepth'), post(13), post(4), post(14)],
    },
    { name: 'b/20240101/0020.json.gz', lines: [post(15), post(16), post(17), post(15)] },
  ];
}

export async function store(
  folder: string,
  file: StoredFile,
  row: Row,
  isCut = false,
): Promise<void> {
  const name = path.join(folder, file.name);
  const end = row['jsonLines.separator'] === 'CRLF' ? '\r\n' : '\n';
  const content = Buffer.from(file.lines.map(({ raw }) => raw + end).join(''));
  const bytes = name.endsWith('.gz') ? gzipSync(content) : content;
  await mkdir(path.dirname(name), { recursive: true });
  await writeFile(name, isCut ? bytes.subarray(0, bytes.length - 6) : bytes);
}
