export {
  ConnectionError,
  type ConnectionFailure,
  DataError,
  type DataPlace,
  HttpError,
  IncompleteError,
  MillraceError,
  OptionError,
  StorageError,
} from './errors.js';
export {
  type Batch,
  type Batches,
  batchesOf,
  type Cursor,
  Flow,
  type Json,
  type Operator,
  operator,
  type Pull,
  perBatch,
  type Run,
  type Sink,
  type SinkRun,
} from './flow.js';
export { through } from './operators/through.js';
export { type PipelineOptions, pipeline, type Source, type Stage } from './pipeline.js';
export type { ProgressCounts } from './progress.js';
export { collect } from './sinks/collect.js';
export type { Timestamp } from './time.js';
