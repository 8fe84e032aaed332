/** The rules of a replay stream, as the namespace `replayRules` of the package. */
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
