/**
 * Sources, operators and sinks for a social post data service, the function `pipeline` that connects them,
 * and functions for single calls to the service.
 *
 * @module millrace
 */

export type {
  BatchMessage,
  CommitMessage,
  FileMessage,
  RequestMessage,
  RetryMessage,
  WaitMessage,
} from './base/diagnostics.js';
export {
  AuthorizationError,
  type AuthorizationFailure,
  ConnectionError,
  type ConnectionFailure,
  DataError,
  type DataPosition,
  HttpError,
  IncompleteError,
  JobError,
  MillraceError,
  OptionError,
  type RuleResult,
  RulesError,
  SignInError,
  StorageError,
} from './base/errors.js';
export { Secret } from './base/secret.js';
export type { Shard } from './base/shard.js';
export type { Timestamp } from './base/time.js';
export type { Wait } from './base/wait.js';
export {
  type AppliedCompliance,
  type ApplyComplianceOptions,
  applyCompliance,
  type RewrittenFile,
} from './compliance/apply-compliance.js';
export { type ComplianceGap, type ComplianceOptions, compliance } from './compliance/compliance.js';
export type { HiddenReason, HidingOptions, VisibilityOptions } from './compliance/hidden-posts.js';
export {
  type IntoTombstonesOptions,
  intoTombstones,
  type Recorded,
} from './compliance/into-tombstones.js';
export {
  openTombstones,
  type PostTombstone,
  type Tombstones,
  type TombstonesOptions,
  type UserTombstone,
} from './compliance/tombstones.js';
export { withoutDeleted } from './compliance/without-deleted.js';
export {
  type Batch,
  type Batches,
  type Cursor,
  type DamagedRecords,
  type DamagedStage,
  Flow,
  type FlowIdentity,
  type FlowSink,
  type FlowStep,
  type OpenFlow,
  type Operator,
  type OperatorOptions,
  operator,
  type PerBatchOptions,
  type Pull,
  perBatch,
  type Run,
  type Sink,
  type SinkRun,
} from './flow/flow.js';
export type { ToLine } from './flow/line.js';
export type { MinipassStream, StreamSink } from './flow/minipass-streams.js';
export { pipeline } from './flow/pipeline.js';
export type { PipelineOptions } from './flow/pipeline-arguments.js';
export type { ProgressCounts, RunMessage, RunSummary } from './flow/progress.js';
export type { Source, Stage, WritableSink } from './flow/stage.js';
export type { StageStream } from './flow/stream-stage.js';
export type { WebReadable, WebTransform, WebWritable, WebWriter } from './flow/web-streams.js';
export { type Account, type AccountOptions, account } from './http/account.js';
export type { Timeouts } from './http/connections.js';
export type { Family, Limits, Rate } from './http/rate-limits.js';
export type { Retrying, RetryPolicy } from './http/retry.js';
export type { Timing } from './http/timing.js';
export type { CheckedFile } from './jobs/check-job-file.js';
export { type JobFilesOptions, jobFiles } from './jobs/job-files.js';
export * as jobs from './jobs/jobs.js';
export { parseExact } from './json/exact-ids.js';
export type {
  ArrayPath,
  Bytes,
  DamagedRecord,
  FileBytes,
  JsonRecord,
  OnDamaged,
  RecordLimits,
} from './json/records.js';
export type { Json } from './json/type-guards.js';
export { type ActivitiesOptions, activities } from './operators/activities.js';
export { type ChunkOptions, chunk } from './operators/chunk.js';
export { compose } from './operators/compose.js';
export { type DedupeByKeyOptions, type DedupeOptions, dedupe } from './operators/dedupe.js';
export { type FilterOptions, filter } from './operators/filter.js';
export { type GunzipOptions, gunzip } from './operators/gunzip.js';
export { jsonArray } from './operators/json-array.js';
export { jsonElements } from './operators/json-elements.js';
export { type JsonLinesOptions, jsonLines } from './operators/json-lines.js';
export { map } from './operators/map.js';
export { type MapAsyncOptions, mapAsync } from './operators/map-async.js';
export { type MatchRulesOptions, matchRules } from './operators/match-rules.js';
export { type RouteByTagOptions, routeByTag } from './operators/route-by-tag.js';
export { type SampleOptions, sample } from './operators/sample.js';
export { take } from './operators/take.js';
export { tap } from './operators/tap.js';
export { type ThrottleOptions, throttle } from './operators/throttle.js';
export { through } from './operators/through.js';
export { type WithReferencedOptions, withReferenced } from './operators/with-referenced.js';
export {
  Activity,
  type Author,
  type Edits,
  type Format,
  type MatchingRule,
  type Routed,
} from './post/activity.js';
export type { ActivityStreamsPost } from './post/activity-streams-post.js';
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
} from './post/compliance-event.js';
export {
  type InfoMessage,
  type InStreamMessage,
  type NoticeMessage,
  parseInStreamMessage,
} from './post/in-stream-message.js';
export type { OriginalPost } from './post/original-post.js';
export { type ReplayOptions, type ReplayWait, replay, type StreamType } from './replay/replay.js';
export * as replayRules from './replay/replay-rules.js';
export type { ReplayTimings } from './replay/replay-timings.js';
export type { Gap } from './replay/run-replay.js';
export * as rules from './rules/rules.js';
export type { Budget } from './search/budget.js';
export { type Bucket, type CountBucket, type CountsOptions, counts } from './search/counts.js';
export { type Preview, type PreviewOptions, preview } from './search/preview.js';
export type { Product, QueryGap } from './search/query.js';
export { type SearchOptions, type SearchRulesOptions, search } from './search/search.js';
export type { PackedQueries } from './search/search-rules.js';
export { type ChartedBucket, type ChartOptions, chart } from './sinks/chart.js';
export { collect } from './sinks/collect.js';
export type { FileSinkOptions } from './sinks/commit/file-sink.js';
export type { Written, WrittenFile } from './sinks/commit/run-result.js';
export {
  type Committed,
  type CommittedOptions,
  committed,
  type EncodedCommittedOptions,
  type WriteRange,
} from './sinks/committed.js';
export {
  type Completeness,
  completeness,
  type DifferingBucket,
  type ExpectedBucket,
} from './sinks/completeness.js';
export { type CsvOptions, csv } from './sinks/csv.js';
export { type FilesOptions, files } from './sinks/files.js';
export { type ParquetOptions, parquet } from './sinks/parquet.js';
export { type StdoutOptions, stdout } from './sinks/stdout.js';
export { type TeeOptions, tee } from './sinks/tee.js';
export { safeName } from './sinks/write/safe-name.js';
export { concat } from './sources/concat.js';
export { type LocalFilesOptions, localFiles } from './sources/local-files.js';
export { merge } from './sources/merge.js';
export type { ParquetCompression } from './tables/parquet/page-codec.js';
export * as tables from './tables/tables.js';
export * as usage from './usage/usage.js';
export { type Engaged, type EngagementOptions, engagement } from './users/engagement.js';
export * as users from './users/users.js';
