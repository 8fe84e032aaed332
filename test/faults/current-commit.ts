import { execFileSync } from 'node:child_process';

/** What runs write themselves: it makes no other commit of what they try. */
const WRITTEN = ['results.json', 'RESULTS.md', 'suite-runs.jsonl'];

/** The commit that is tried, with `+` where files differ from it. Undefined outside of a clone. */
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
