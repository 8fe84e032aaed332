export {
  Activity,
  type Author,
  type Edits,
  type Format,
  type MatchingRule,
} from './activity/activity.js';
export type { ActivityStreamsPost } from './activity/activity-streams-post.js';
export {
  type ComplianceEvent,
  type PostEditEvent,
  type PostEvent,
  type PostWithheldEvent,
  parseComplianceEvent,
  type ScrubGeoEvent,
  type UnknownEvent,
  type UserEvent,
  type UserWithheldEvent,
} from './activity/compliance-event.js';
export {
  type InfoMessage,
  type InStreamMessage,
  type NoticeMessage,
  parseInStreamMessage,
} from './activity/in-stream-message.js';
export type { OriginalPost } from './activity/original-post.js';
export type { Routed } from './activity/routed.js';
export {
  type AppliedCompliance,
  type ApplyComplianceOptions,
  applyCompliance,
  type RewrittenFile,
} from './archive/apply-compliance.js';
export { type LocalFilesOptions, localFiles } from './archive/local-files.js';
export {
  type ComplianceGap,
  type ComplianceOptions,
  compliance,
} from './compliance/compliance.js';
export {
  type IntoTombstonesOptions,
  intoTombstones,
  type Recorded,
} from './compliance/into-tombstones.js';
export type { HiddenReason, VisibilityOptions } from './compliance/judge.js';
export type { RedactOptions } from './compliance/redact.js';
export type { PostTombstone, UserTombstone } from './compliance/tombstone.js';
export {
  openTombstones,
  type Tombstones,
  type TombstonesOptions,
} from './compliance/tombstones.js';
export { withoutDeleted } from './compliance/without-deleted.js';
export {
  AuthorizationError,
  type AuthorizationFailure,
  ConnectionError,
  type ConnectionFailure,
  DataError,
  type DataPlace,
  HttpError,
  IncompleteError,
  JobError,
  MillraceError,
  OptionError,
  type RuleResult,
  RulesError,
  SignInError,
  StorageError,
} from './errors.js';
export {
  type Batch,
  type Batches,
  batchesOf,
  type Cursor,
  Flow,
  type FlowIdentity,
  type FlowStep,
  type Json,
  type OpenFlow,
  type Operator,
  type OperatorOptions,
  operator,
  type Pull,
  perBatch,
  type Run,
  type Sink,
  type SinkRun,
} from './flow/flow.js';
export type { MinipassStream } from './flow/minipass-streams.js';
export { pipeline, type Source, type Stage, type WritableSink } from './flow/pipeline.js';
export type { PipelineOptions } from './flow/pipeline-arguments.js';
export type { ProgressCounts } from './flow/progress.js';
export type { StreamSink } from './flow/write-to-stream.js';
export { type Account, type AccountOptions, account } from './http/account.js';
export type { Family, Limits, Rate } from './http/rate-limits.js';
export type { Retrying, RetryPolicy } from './http/retry.js';
export { Secret } from './http/secret.js';
export type { StreamType } from './http/stream-address.js';
export type { Timeouts } from './http/timeouts.js';
export type { Timing } from './http/timing.js';
export type { CheckedFile } from './jobs/check-job-file.js';
export {
  type DownloadedFile,
  type DownloadJobOptions,
  downloadJob,
} from './jobs/download-job.js';
export type {
  CreatedJob,
  CreatedRule,
  DeliveredJob,
  Job,
  JobCsvFile,
  JobList,
  JobListItem,
  JobListing,
  JobName,
  JobQuote,
  JobResults,
  JobStatus,
} from './jobs/job.js';
export {
  acceptJob,
  createJob,
  findJob,
  getJob,
  type JobCallOptions,
  jobResults,
  jobResultsCsv,
  listJobs,
  rejectJob,
} from './jobs/job-calls.js';
export { countJobDays } from './jobs/job-days.js';
export { type JobFilesOptions, jobFiles } from './jobs/job-files.js';
export type { JobRequest, JobRule } from './jobs/job-request.js';
export type { ExpectedAndDelivered, JobVerdict } from './jobs/job-verdict.js';
export { type RunJobOptions, runJob } from './jobs/run-job.js';
export type { DamagedRecord, OnDamaged } from './json/damaged-record.js';
export { ElementSplitter, type ElementSplitterOptions } from './json/element-splitter.js';
export { parseExact } from './json/exact-json.js';
export type { RecordLimits } from './json/record-limits.js';
export { type ActivitiesOptions, activities } from './operators/activities.js';
export { type DedupeByKeyOptions, type DedupeOptions, dedupe } from './operators/dedupe.js';
export { type FilterOptions, filter } from './operators/filter.js';
export { type GunzipOptions, gunzip } from './operators/gunzip.js';
export { jsonElements } from './operators/json-elements.js';
export { type JsonLinesOptions, jsonLines } from './operators/json-lines.js';
export { listing } from './operators/listing.js';
export { map } from './operators/map.js';
export { type MapAsyncOptions, mapAsync } from './operators/map-async.js';
export { type MatchRulesOptions, matchRules } from './operators/match-rules.js';
export { type RouteByTagOptions, routeByTag } from './operators/route-by-tag.js';
export { take } from './operators/take.js';
export { tap } from './operators/tap.js';
export { through } from './operators/through.js';
export { type ReplayOptions, type ReplayWait, replay } from './replay/replay.js';
export { replayRules } from './replay/replay-rules.js';
export type { ReplayTimings } from './replay/replay-timings.js';
export {
  type AddedRule,
  addReplayRules,
  type DeletedRule,
  deleteReplayRules,
  getReplayRules,
  type NewRule,
  type ReplayRule,
  type ReplayRulesOptions,
  type ValidatedRule,
  validateReplayRules,
} from './replay/rule-calls.js';
export type { Gap } from './replay/run-replay.js';
export {
  type RuleChanges,
  renderRuleChanges,
  type SyncRulesOptions,
  syncRules,
} from './replay/sync-rules.js';
export {
  type CompileRulesOptions,
  compileRules,
  type Rule,
  RuleMatcher,
} from './rules/index/compile-rules.js';
export {
  type PlannedRule,
  planOf,
  requiredTerms,
  type TermPlan,
} from './rules/index/required-terms.js';
export { applySuggestions } from './rules/language/apply-suggestions.js';
export { type CheckOptions, checkRule } from './rules/language/check-rule.js';
export {
  type OperatorSpec,
  operators,
  type RuleProduct,
  type ValueKind,
} from './rules/language/operators.js';
export { type ParsedRule, parseRule } from './rules/language/parse-rule.js';
export { printRule } from './rules/language/print-rule.js';
export {
  type Problem,
  type ProblemCode,
  type Suggestion,
  serviceMessage,
  type TextEdit,
} from './rules/language/problem.js';
export { renderProblem } from './rules/language/render-problem.js';
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
} from './rules/language/tree.js';
export { type CompileRuleOptions, compileRule } from './rules/match/compile-rule.js';
export {
  type Explanation,
  explainMatch,
  renderExplanation,
} from './rules/match/explain-match.js';
export { type Bucket, type CountBucket, type CountsOptions, counts } from './search/counts.js';
export type { Product } from './search/query.js';
export { type SearchOptions, search } from './search/search.js';
export { type ChartedBucket, type ChartOptions, chart } from './sinks/chart.js';
export { collect } from './sinks/collect.js';
export {
  type Completeness,
  completeness,
  type DifferingBucket,
  type ExpectedBucket,
} from './sinks/completeness.js';
export { type FilesOptions, files } from './sinks/files/files.js';
export { safeName } from './sinks/files/safe-name.js';
export type { Written, WrittenFile } from './sinks/files/written.js';
export type { ToLine } from './sinks/line.js';
export { type StdoutOptions, stdout } from './sinks/stdout.js';
export type { Timestamp } from './time.js';
export {
  type ProductUsage,
  type PublisherUsage,
  type UsageBucket,
  type UsageOptions,
  type UsageReport,
  type UsageSpan,
  type UsageThreshold,
  usage,
} from './usage/usage.js';
export { type UsageChartOptions, usageChart } from './usage/usage-chart.js';
export { usageRows } from './usage/usage-rows.js';
export { type UsageRow, usageTable } from './usage/usage-table.js';
export { type Engaged, type EngagementOptions, engagement } from './users/engagement.js';
export type { EngagementProblem } from './users/engagement-answer.js';
export type { UserToken } from './users/engagement-batch.js';
export type {
  Count,
  CountAs,
  EngagementType,
  GroupBy,
  GroupedTotals,
  Grouping,
  Groupings,
  Totals,
} from './users/engagement-request.js';
export {
  type ByPost,
  type EngagementTotals,
  type EngagementTotalsOptions,
  engagementTotals,
} from './users/engagement-totals.js';
export { type SignInOptions, signIn } from './users/sign-in.js';
export {
  type AccessToken,
  type AccessTokenOptions,
  accessToken,
  type RequestToken,
  type RequestTokenOptions,
  requestToken,
  type SignInAddressOptions,
  signInAddress,
} from './users/sign-in-steps.js';
