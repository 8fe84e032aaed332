import { readFileSync } from 'node:fs';
import type { AppliedCompliance } from '../archive/apply-compliance.js';
import { OptionError } from '../errors.js';
import { MATCHER_OPTIONS } from '../rules/index/compile-rules.js';
import { FILE_SINK_OPTIONS } from '../sinks/output/file-sink-options.js';
import { Call, Name } from './call-script.js';
import {
  type Command,
  jsonIn,
  pipelineScript,
  SIGNAL,
  SINK_FLAGS,
  STANDARD_INPUT,
  sinkCalls,
} from './command.js';
import { flagsOf } from './flags.js';

const WRITER = flagsOf(FILE_SINK_OPTIONS, ['workers']);
const MATCHER = flagsOf(MATCHER_OPTIONS, ['product']);

/** Writes the posts of standard input into files. */
export const write: Command = {
  usage: 'FILES',
  flags: SINK_FLAGS.filter(({ name }) => name !== 'out'),
  positionals: { min: 1, max: 1 },
  build: given =>
    pipelineScript({}, [
      ...STANDARD_INPUT,
      ...sinkCalls({
        ...given,
        options: flags => ({ ...given.options(flags), out: given.positionals[0] }),
      }),
    ]),
};

/** Passes on the posts of standard input that a rule matches. */
export const match: Command = {
  usage: 'RULES.json',
  flags: [...MATCHER, ...SINK_FLAGS],
  positionals: { min: 1, max: 1 },
  build: given =>
    pipelineScript({}, [
      ...STANDARD_INPUT,
      new Call('matchRules', [
        jsonIn(given.positionals[0] as string, rulesIn),
        { dropUnmatched: true, ...given.options(MATCHER) },
      ]),
      ...sinkCalls(given),
    ]),
};

/** Writes stored files as other files. */
export const convert: Command = {
  usage: 'FOLDER|FILE...',
  flags: [...SINK_FLAGS, ...WRITER],
  positionals: { min: 1, max: 1_000_000 },
  build(given) {
    const { positionals, options } = given;
    const source = positionals.length === 1 ? positionals[0] : positionals;
    const sinks = sinkCalls({
      ...given,
      options: flags => ({ ...options(flags), ...(flags === SINK_FLAGS && options(WRITER)) }),
    });
    return pipelineScript({}, [
      new Call('localFiles', [source]),
      new Call('gunzip', [{ plain: 'pass' }]),
      ...['jsonLines', 'activities', 'dedupe'].map(name => new Call(name, [])),
      ...sinks,
    ]);
  },
};

/** Applies recorded compliance events to stored files. */
export const apply: Command = {
  usage: 'TOMBSTONES FOLDER',
  flags: [],
  positionals: { min: 2, max: 2 },
  build: ({ positionals: [tombstones, folder] }) => ({
    constants: { tombstones: new Call('openTombstones', [tombstones]) },
    call: new Call('applyCompliance', [folder, new Name('tombstones'), SIGNAL]),
    report: result => {
      const { files, posts, removed, changed } = result as AppliedCompliance;
      const gone = Object.values(removed).reduce((sum, count) => sum + count, 0);
      return `Of ${posts} posts in ${files} files, ${gone} removed and ${changed} changed`;
    },
  }),
};

/** Rules in a file: an array of `{ value, tag }`, or the object that the service takes. */
export function rulesIn(file: string): unknown {
  const parsed = parsedFile(file);
  const { rules = parsed } = Object(parsed) as { readonly rules?: unknown };
  if (!Array.isArray(rules))
    throw new OptionError('rules', `${file} must have an array of rules, { "value", "tag" } each`);
  return rules;
}

function parsedFile(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const { message } = error as Error;
    throw new OptionError('rules', `Could not read the rules of ${file}: ${message}`, {
      cause: error,
    });
  }
}
