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
export { parseExact } from './activity/exact-json.js';
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
export { type Account, type AccountOptions, account } from './client/account.js';
export type { EngagementProblem } from './client/engagement/engagement-answer.js';
export type { UserToken } from './client/engagement/engagement-batch.js';
export type {
  Count,
  CountAs,
  EngagementType,
  GroupBy,
  GroupedTotals,
  Grouping,
  Groupings,
  Totals,
} from './client/engagement/engagement-request.js';
export {
  type ByPost,
  type EngagementTotals,
  type EngagementTotalsOptions,
  engagementTotals,
} from './client/engagement/engagement-totals.js';
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
} from './client/job.js';
export { countJobDays } from './client/job-days.js';
export { type RunJobOptions, runJob } from './client/job-life.js';
export type { JobRequest, JobRule } from './client/job-request.js';
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
} from './client/jobs.js';
export type { Family, Limits, Rate } from './client/limits.js';
export { type SignInOptions, signIn } from './client/oauth/sign-in.js';
export {
  type AccessToken,
  type AccessTokenOptions,
  accessToken,
  type RequestToken,
  type RequestTokenOptions,
  requestToken,
  type SignInAddressOptions,
  signInAddress,
} from './client/oauth/sign-in-steps.js';
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
} from './client/replay-rules.js';
export type { Retrying, RetryPolicy } from './client/retry.js';
export { Secret } from './client/secret.js';
export type { StreamType } from './client/stream-address.js';
export type { Timeouts } from './client/timeouts.js';
export type { Timing } from './client/timing.js';
export {
  type ProductUsage,
  type PublisherUsage,
  type UsageBucket,
  type UsageOptions,
  type UsageReport,
  type UsageSpan,
  type UsageThreshold,
  usage,
} from './client/usage.js';
export { type UsageChartOptions, usageChart } from './client/usage-chart.js';
export { type UsageRow, usageTable } from './client/usage-table.js';
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
} from './flow.js';
export type { MinipassStream } from './minipass-streams.js';
export { type ActivitiesOptions, activities } from './operators/activities.js';
export type { DamagedRecord, OnDamaged } from './operators/damaged-record.js';
export { type DedupeByKeyOptions, type DedupeOptions, dedupe } from './operators/dedupe.js';
export { ElementSplitter, type ElementSplitterOptions } from './operators/element-splitter.js';
export { type FilterOptions, filter } from './operators/filter.js';
export { type GunzipOptions, gunzip } from './operators/gunzip.js';
export { jsonElements } from './operators/json-elements.js';
export { type JsonLinesOptions, jsonLines } from './operators/json-lines.js';
export { listing } from './operators/listing.js';
export { map } from './operators/map.js';
export { type MapAsyncOptions, mapAsync } from './operators/map-async.js';
export { type MatchRulesOptions, matchRules } from './operators/match-rules.js';
export type { RecordLimits } from './operators/record-limits.js';
export { type RouteByTagOptions, routeByTag } from './operators/route-by-tag.js';
export { take } from './operators/take.js';
export { tap } from './operators/tap.js';
export { through } from './operators/through.js';
export { withoutDeleted } from './operators/without-deleted.js';
export { pipeline, type Source, type Stage, type WritableSink } from './pipeline.js';
export type { PipelineOptions } from './pipeline-arguments.js';
export type { ProgressCounts } from './progress.js';
export { applySuggestions } from './rules/apply-suggestions.js';
export { type CheckOptions, checkRule } from './rules/check-rule.js';
export { type CompileRuleOptions, compileRule } from './rules/compile-rule.js';
export {
  type CompileRulesOptions,
  compileRules,
  type Rule,
  RuleMatcher,
} from './rules/compile-rules.js';
export {
  type Explanation,
  explainMatch,
  renderExplanation,
} from './rules/explain-match.js';
export {
  type OperatorSpec,
  operators,
  type RuleProduct,
  type ValueKind,
} from './rules/operators.js';
export { type ParsedRule, parseRule } from './rules/parse-rule.js';
export { printRule } from './rules/print-rule.js';
export {
  type Problem,
  type ProblemCode,
  type Suggestion,
  serviceMessage,
  type TextEdit,
} from './rules/problem.js';
export { renderProblem } from './rules/render-problem.js';
export { type PlannedRule, planOf, requiredTerms, type TermPlan } from './rules/required-terms.js';
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
} from './rules/tree.js';
export { type ChartedBucket, type ChartOptions, chart } from './sinks/chart.js';
export { collect } from './sinks/collect.js';
export {
  type Completeness,
  completeness,
  type DifferingBucket,
  type ExpectedBucket,
} from './sinks/completeness.js';
export { type FilesOptions, files } from './sinks/files.js';
export {
  type IntoTombstonesOptions,
  intoTombstones,
  type Recorded,
} from './sinks/into-tombstones.js';
export type { ToLine } from './sinks/line.js';
export { safeName } from './sinks/safe-name.js';
export { type StdoutOptions, stdout } from './sinks/stdout.js';
export type { Written, WrittenFile } from './sinks/written.js';
export type { CheckedFile } from './sources/check-job-file.js';
export {
  type ComplianceGap,
  type ComplianceOptions,
  compliance,
} from './sources/compliance.js';
export { type Bucket, type CountBucket, type CountsOptions, counts } from './sources/counts.js';
export {
  type DownloadedFile,
  type DownloadJobOptions,
  downloadJob,
} from './sources/download-job.js';
export { type Engaged, type EngagementOptions, engagement } from './sources/engagement.js';
export { type JobFilesOptions, jobFiles } from './sources/job-files.js';
export type { ExpectedAndDelivered, JobVerdict } from './sources/job-verdict.js';
export { type LocalFilesOptions, localFiles } from './sources/local-files.js';
export type { Product } from './sources/query.js';
export type { ReplayTimings } from './sources/replay/replay-timings.js';
export type { Gap } from './sources/replay/run-replay.js';
export { type ReplayOptions, type ReplayWait, replay } from './sources/replay.js';
export { replayRules } from './sources/replay-rules.js';
export { type SearchOptions, search } from './sources/search.js';
export {
  type RuleChanges,
  renderRuleChanges,
  type SyncRulesOptions,
  syncRules,
} from './sources/sync-rules.js';
export { usageRows } from './sources/usage-rows.js';
export type { Timestamp } from './time.js';
export type { HiddenReason, JudgeOptions } from './tombstones/judge.js';
export type { PostMark, UserMark } from './tombstones/marks.js';
export type { RedactOptions } from './tombstones/redacted.js';
export {
  openTombstones,
  type Tombstones,
  type TombstonesOptions,
} from './tombstones/tombstones.js';
export type { StreamSink } from './write-to-stream.js';
