/**
 * A local service for tests and scripts, which behaves like the real service.
 *
 * @module millrace/service
 */

export type {
  Archive,
  ArchivedPost,
  ArchiveQuery,
  CountedBucket,
  CountsOptions,
  CountsResult,
  ScannedSegment,
  SearchOptions,
  SearchResult,
  SortKey,
} from './archive/archive.js';
export type { Clock } from './clock.js';
export type { Compliance } from './compliance/compliance-events.js';
export type { Addresses } from './http/addresses.js';
export type * from './http/fault-types.js';
export { HttpProblem } from './http/http-problem.js';
export type { Faults } from './http/planted-faults.js';
export type { RequestEntry, RequestFilter, RequestWait } from './http/request-log.js';
export type { Endpoint } from './http/router.js';
export type { Limits, LimitsOption, Rate } from './http/service-limits.js';
export type { NewAuthor, NewPost } from './posts/new-post.js';
export type { Posts } from './posts/posts.js';
export type { GivenPost } from './posts/read-given.js';
export type { SampleOptions } from './sample/sample-posts.js';
export { samplePosts } from './sample/sample-posts.js';
export { createService, type Service } from './service.js';
export type { JobDwell, ServiceOptions, UsageOptions } from './service-options.js';
export type { Snapshot, StatePart } from './snapshot.js';
export type { Application, OAuthOptions } from './users/applications.js';
export type { User } from './users/grants.js';
export type {
  Approval,
  OAuthProvider,
  PendingSignIn,
  UserGrant,
} from './users/oauth-provider.js';
