import { createHash } from 'node:crypto';
import type { CheckedJobRequest } from './job-request.js';

const DIGEST = / \(rules [0-9a-f]{8}\)$/;

/**
 * The title that `jobs.run` sends: the requested one and a digest of the rules, whose order does not
 * matter. The service returns title, dates and format of an existing job, but not its rules.
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
