/**
 * The functions for the rules of a replay stream. The package exports them as the namespace `replayRules`.
 */
export {
  type AddedRule,
  addReplayRules as add,
  type DeletedRule,
  deleteReplayRules as delete,
  getReplayRules as get,
  listReplayRules as list,
  type ValidatedRule,
  validateReplayRules as validate,
} from './rule-calls.js';
export type { NewRule, ReplayRule, ReplayRulesOptions } from './rule-request.js';
export {
  type RuleChanges,
  renderRuleChanges as renderChanges,
  type SyncRulesOptions,
  syncRules as sync,
} from './sync-rules.js';
