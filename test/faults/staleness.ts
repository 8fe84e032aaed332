import { execFileSync } from 'node:child_process';
import type { RecordedCell } from './part.js';

/** After this many commits to the tested files, a result says little about the current code. */
export const STALE_COMMITS = 50;

const COMMON = [
  ...['flow', 'http', 'json', 'gzip', 'storage', 'post', 'operators', 'sinks', 'files'],
  'base',
];

/**
 * The folders below `src` that a pipeline or a kind of stored files uses, in addition to `COMMON`.
 */
const USED: Readonly<Record<string, readonly string[]>> = {
  search: ['search'],
  counts: ['search'],
  csv: ['search', 'tables'],
  tee: ['search'],
  'tee-database': ['search'],
  'on-file': ['search'],
  damaged: ['sources', 'tables'],
  files: [],
  'gzip-files': ['search'],
  'files-without-checkpoint': [],
  'files-by-threads': [],
  parquet: ['search', 'tables'],
  merge: ['search', 'replay', 'sources'],
  'job-files': ['jobs'],
  'jobs.download': ['jobs'],
  'jobs.create': ['jobs'],
  download: ['jobs'],
  replay: ['replay'],
  connects: ['replay'],
  compliance: ['compliance', 'replay'],
  'stored-files': ['sources'],
  applyCompliance: ['compliance'],
  rewrites: ['compliance'],
  tombstones: ['compliance'],
  engagement: ['users', 'sources'],
  tokens: ['users'],
  rules: ['service'],
  grants: ['service'],
  nonces: ['service'],
  jobs: ['service'],
  index: ['service', 'rules'],
  usage: ['service'],
};
const BY_PIPELINE = ['matrix', 'disks', 'calls'];

/**
 * Returns the source and test files that a cell tests. If the name of the cell does not tell which,
 * returns all of `src`.
 */
export function touchedBy(part: string, cell: string): readonly string[] {
  const [name = ''] = cell.split('/');
  const used = USED[name.replace(/-threads$/, '')];
  const own = [`test/faults/${part}`, `test/faults/${part}.ts`];
  if (part === 'jetstream') return [...[...COMMON, 'jetstream'].map(inSource), ...own];
  if (!BY_PIPELINE.includes(part) || used === undefined) return ['src', ...own];
  return [...[...COMMON, ...used].map(inSource), ...own];
}

const inSource = (name: string) => `src/${name}`;

/**
 * Returns a function that returns the age of a result: the number of commits to the files of its
 * cell. The function calls git once per commit and set of files.
 */
export function ages(): (part: string, cell: RecordedCell) => number | undefined {
  const known = new Map<string, number | undefined>();
  return (part, { cell, commit }) => {
    const paths = touchedBy(part, cell);
    const key = [commit, ...paths].join(' ');
    if (!known.has(key)) known.set(key, commitsSince(commit, paths));
    return known.get(key);
  };
}

export function commitsSince(
  commit: string | undefined,
  paths: readonly string[],
): number | undefined {
  if (commit === undefined) return undefined;
  const range = `${commit.replace('+', '')}..HEAD`;
  try {
    const count = execFileSync('git', ['rev-list', '--count', range, '--', ...paths], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return Number(count);
  } catch {
    return undefined;
  }
}

export function staleness(age: number | undefined): string | undefined {
  if (age === undefined) return 'of an unknown commit';
  return age < STALE_COMMITS ? undefined : `${age} commits ago`;
}

/** Files that the runs themselves write. Commits to these files do not change what is tested. */
const WRITTEN = ['results.json', 'RESULTS.md', 'suite-runs.jsonl'];

/**
 * Returns the current commit, followed by `+` if files differ from it. Returns undefined outside of
 * a clone.
 */
export function currentCommit(): string | undefined {
  const git = (...args: readonly string[]) =>
    execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const others = WRITTEN.map(name => `:!test/faults/${name}`);
  try {
    const changes = git('status', '--porcelain', '--', 'src', 'test', 'examples', ...others);
    return `${git('rev-parse', '--short', 'HEAD').trim()}${changes === '' ? '' : '+'}`;
  } catch {
    return undefined;
  }
}
