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
  ContentCutFault,
  CountsTimeoutFault,
  CutFault,
  DelayFault,
  Fault,
  FlipFault,
  FloodFault,
  JobFailureFault,
  JobFault,
  MinutesFailedFault,
  PlantedFault,
  RequestFault,
  StallFault,
  StatusFault,
  StreamFault,
  SuspectMinutesFault,
  UnprocessedRangeFault,
  WrongCountFault,
  WrongTotalsFault,
} from './fault-kinds.js';
export type { Faults } from './faults.js';
export type { Limits, LimitsOption, Rate } from './limits.js';
export type { Application } from './oauth/application.js';
export type { User } from './oauth/grants.js';
export type { OAuthOptions } from './oauth/oauth-options.js';
export type {
  Approval,
  OAuthProvider,
  PendingSignIn,
  UserGrant,
} from './oauth/oauth-provider.js';
export { Refusal } from './refusal.js';
export type { Endpoint } from './router.js';
export { createService, type Service } from './service.js';
export type { JobDwell, ServiceOptions } from './service-options.js';
export type { Compliance } from './streams/compliance.js';
export type { UsageOptions } from './usage/usage-options.js';
