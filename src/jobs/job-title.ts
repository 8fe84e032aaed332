import { createHash } from 'node:crypto';
import type { CheckedJobRequest } from './job-request.js';

const DIGEST = / \(rules [0-9a-f]{8}\)$/;

/**
 * The title that `jobs.run` sends: the one that was asked for, with a digest of the rules behind it. The
 * service tells title, dates and format of a job that it has, but not its rules. Their order does not count.
 */
export function titleWithRules({ title, rules }: CheckedJobRequest): string {
  const sorted = rules
    .map(({ value, tag }) => JSON.stringify([value, tag ?? null]))
    .toSorted()
    .join('\n');
  const digest = createHash('sha256').update(sorted).digest('hex').slice(0, 8);
  return `${plainTitle(title)} (rules ${digest})`;
}

/** A title without the digest of rules. */
export function plainTitle(title: string): string {
  return title.replace(DIGEST, '');
}
