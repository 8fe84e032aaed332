import { Fields } from '../http/read-fields.js';
import { parseExact } from '../json/exact-json.js';

/** What the service says of one rule that it was sent. */
export interface RuleVerdict {
  readonly value: string | undefined;
  readonly id: string | undefined;
  /** Whether it was created, deleted or found valid, as was asked; `undefined` where nothing is said. */
  readonly passed: boolean | undefined;
  /** In the service's words. */
  readonly reason: string | undefined;
}

/**
 * What the body of an answer says of each rule. For adding and deleting the status alone counts
 * (service.md 4.4 shows no body), so a body that is empty, or is not about rules, says nothing.
 */
export function ruleVerdicts(
  body: string,
  flag: 'created' | 'deleted' | 'valid',
): readonly RuleVerdict[] {
  try {
    return new Fields(parseExact(body), 'one about rules', '').objects('detail').map(entry => {
      const rule = entry.object('rule');
      return {
        value: rule?.text('value'),
        id: rule?.text('id'),
        passed: entry.has(flag) ? entry.flag(flag) : undefined,
        reason: entry.text('message')?.trim(),
      };
    });
  } catch {
    return [];
  }
}
