import { readFileSync } from 'node:fs';
import { OptionError } from '../base/errors.js';
import { type Flags, flagsOf } from '../base/flags.js';
import { APPLY_OPTIONS, type AppliedCompliance } from '../compliance/apply-compliance.js';
import { withoutMark } from '../json/byte-codes.js';
import { MATCHER_OPTIONS } from '../rules/index/compile-rules.js';
import { FILE_SINK_OPTIONS } from '../sinks/commit/file-sink.js';
import { hasLmdb } from '../storage/open-lmdb.js';
import { Call } from './call-script.js';
import {
  type Command,
  jsonIn,
  pipelineScript,
  SHARD,
  SIGNAL,
  SINK_FLAGS,
  STANDARD_INPUT,
  sinkCalls,
} from './command.js';

const WRITER = flagsOf(FILE_SINK_OPTIONS, ['workers'], {
  workers: { shownDefault: 'as many as cores' },
});
const MATCHER = flagsOf(MATCHER_OPTIONS, ['product']);
/**
 * The flags of files for commands that read standard input. They lack `--checkpoint`: standard input has no
 * cursors and no identity, so a later run with other input would find the checkpoint complete and read
 * nothing.
 */
const INPUT_SINK_FLAGS = SINK_FLAGS.filter(({ name }) => name !== 'checkpoint');

export const writeCommand: Command = {
  usage: 'FILES',
  flags: INPUT_SINK_FLAGS.filter(({ name }) => name !== 'out'),
  examples: [
    "'out/{tag}/{day}.jsonl.gz' < posts.jsonl",
    'posts.csv --columns id,posted_at,text < posts.jsonl',
  ],
  build: given => {
    const options = (flags: Flags) => ({ ...given.options(flags), out: given.positionals[0] });
    const sinks = sinkCalls({ ...given, options }, { argument: 'FILES' });
    return pipelineScript([...STANDARD_INPUT, ...sinks]);
  },
};

export const matchCommand: Command = {
  usage: 'RULES.json',
  flags: [...MATCHER, ...INPUT_SINK_FLAGS],
  examples: ['rules.json < posts.jsonl', "rules.json --out '{tag}.jsonl' < posts.jsonl"],
  build: given =>
    pipelineScript([
      ...STANDARD_INPUT,
      new Call('matchRules', [
        jsonIn(given.positionals[0] as string, rulesIn),
        { dropUnmatched: true, ...given.options(MATCHER) },
      ]),
      ...sinkCalls(given),
    ]),
};

export const convertCommand: Command = {
  usage: 'FOLDER|FILE...',
  examples: [
    'out/posts --out posts.parquet',
    'posts.jsonl.gz --out posts.csv --columns id,posted_at,text',
  ],
  flags: [...SINK_FLAGS, ...WRITER, ...SHARD],
  build(given) {
    const { positionals, options } = given;
    const source = positionals.length === 1 ? positionals[0] : positionals;
    const { shard } = options(SHARD);
    const sourceOptions = shard === undefined ? [] : [{ shard }];
    const sinks = sinkCalls({
      ...given,
      options: flags => ({ ...options(flags), ...(flags === SINK_FLAGS && options(WRITER)) }),
    });
    return pipelineScript([
      new Call('localFiles', [source, ...sourceOptions]),
      new Call('gunzip', [{ plain: 'pass' }]),
      ...['jsonLines', 'activities', 'dedupe'].map(name => new Call(name)),
      ...sinks,
    ]);
  },
};

const APPLY = flagsOf(APPLY_OPTIONS, ['country', 'earlierVersions', 'mask', 'dryRun'], {
  country: { placeholder: 'DE' },
});

export const openedTombstones = (...args: readonly [folder: unknown, options?: object]) =>
  new Call('openTombstones', args, 'tombstones');

export const applyCommand: Command = {
  usage: 'TOMBSTONES FOLDER',
  flags: APPLY,
  examples: ['tombstones out/posts --dry-run', 'tombstones out/posts --country DE --mask'],
  build: ({ positionals: [tombstones, folder], options }) => {
    const given = options(APPLY);
    // Detects swapped arguments before the library does. The library's error cannot name the
    // command that stores tombstones.
    if (!hasLmdb(String(tombstones)))
      throw new OptionError(
        'tombstones',
        `There are no tombstones in ${tombstones}, the first argument: millrace compliance --into ${tombstones} stores them`,
      );
    return {
      call: new Call('applyCompliance', [
        folder,
        openedTombstones(tombstones, { readOnly: true }),
        { ...given, ...SIGNAL },
      ]),
      report: result => {
        const { files, posts, removed, changed } = result as AppliedCompliance;
        const gone = Object.values(removed).reduce((sum, count) => sum + count, 0);
        const [what, would] = [given.mask ? 'masked' : 'removed', given.dryRun ? ' would be' : ''];
        return `Of ${posts} posts in ${files} files, ${gone}${would} ${what} and ${changed}${would} changed`;
      },
    };
  },
};

/**
 * Reads the rules in a file: an array of `{ value, tag }`, or an object with the member `rules`, as the
 * service writes it.
 */
export function rulesIn(file: string): unknown {
  const parsed = parsedFile('rules', file, text => JSON.parse(text));
  const { rules = parsed } = Object(parsed) as { readonly rules?: unknown };
  if (!Array.isArray(rules))
    throw new OptionError(
      'rules',
      `${file} must contain an array of rules such as { "value": "snow", "tag": "winter" }`,
    );
  return rules;
}

/**
 * Reads and parses a file.
 *
 * @param option The option that gets the content of the file.
 * @throws OptionError with the name of the option if the file cannot be read or parsed.
 */
export function parsedFile<T>(option: string, file: string, parse: (text: string) => T): T {
  try {
    return parse(withoutMark(readFileSync(file)).toString());
  } catch (cause) {
    const { message } = cause as Error;
    throw new OptionError(option, `Could not read the ${option} of ${file}: ${message}`, { cause });
  }
}
