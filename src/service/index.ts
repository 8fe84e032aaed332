export type { Addresses } from './addresses.js';
export type {
  Archive,
  ArchivedPost,
  ArchiveQuery,
  CountedBucket,
  CountsAnswer,
  CountsOptions,
  Place,
  ScannedSegment,
  SearchAnswer,
  SearchOptions,
} from './archive/archive.js';
export { type SampleOptions, samplePosts } from './archive/sample/sample-posts.js';
export type { Clock } from './clock.js';
export type {
  BodyFault,
  CountsTimeoutFault,
  CutFault,
  DelayFault,
  Fault,
  Faults,
  FlipFault,
  JobFailureFault,
  JobFault,
  PlantedFault,
  RequestFault,
  StallFault,
  StatusFault,
  SuspectMinutesFault,
  WrongTotalsFault,
} from './faults.js';
export type { Limits, LimitsOption, Rate } from './limits.js';
export type { Endpoint } from './router.js';
export { createService, type Service } from './service.js';
export type { JobDwell, ServiceOptions } from './service-options.js';
