/** The functions for the rule language. The package exports them as the namespace `rules`. */
export {
  type CompileRulesOptions,
  compileRules as compileAll,
  type Rule,
  RuleMatcher,
} from './index/compile-rules.js';
export { applySuggestions } from './language/apply-suggestions.js';
export { type CheckOptions, checkRule as check } from './language/check-rule.js';
export { type ParsedRule, parseRule as parse } from './language/parse-rule.js';
export { printRule as print } from './language/print-rule.js';
export type { Problem, ProblemCode, Suggestion, TextEdit } from './language/problem.js';
export { renderProblem } from './language/render-problem.js';
export { type CompileRuleOptions, compileRule as compile } from './match/compile-rule.js';
export {
  type Explanation,
  explainMatch as explain,
  renderExplanation,
} from './match/explain-match.js';
export type { OperatorSpec, ValueKind } from './operators/operator.js';
export { operators } from './operators/operators.js';
export { type PackedQuery, type PackOptions, packRules as pack } from './pack-rules.js';
export type { RuleProduct } from './post/dialect.js';
export type {
  And,
  BoundingBox,
  Clause,
  CountRange,
  HasValue,
  IsValue,
  Not,
  OperatorClause,
  OperatorName,
  OperatorValues,
  Or,
  PointRadius,
  Proximity,
  RuleNode,
  Span,
  TextClause,
  Tree,
} from './tree.js';
