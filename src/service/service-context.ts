import type { Format } from '../post/activity.js';
import type { Archive } from './archive/archive.js';
import type { Clock } from './clock.js';
import type { Compliance } from './compliance/compliance-events.js';
import type { Faults } from './http/planted-faults.js';
import type { Quotas } from './http/quotas.js';
import type { RequestLog } from './http/request-log.js';
import type { OpenStream } from './http/stream-status.js';
import type { Posts } from './posts/posts.js';
import type { ReplayLog } from './replay/replay-log.js';
import type { StreamRules } from './replay/stream-rules.js';
import type { ServiceSettings } from './service-options.js';
import type { UsageMeter } from './usage/usage-meter.js';
import type { OAuthProvider } from './users/oauth-provider.js';
import type { SignedRequests } from './users/signed-requests.js';

/** The objects that all endpoints use. */
export interface ServiceContext {
  readonly settings: ServiceSettings;
  readonly clock: Clock;
  readonly faults: Faults;
  /** The windows of the rate limits. */
  readonly quotas: Quotas;
  /** Counts delivered posts and requests. */
  readonly usage: UsageMeter;
  /** The last requests, for the console. */
  readonly requests: RequestLog;
  /** The open connections to streams. */
  readonly streams: Set<OpenStream>;
  /** The posts of the option `posts`, and posts that a test has added. */
  readonly posts: Posts;
  readonly compliance: Compliance;
  /** The rules of the replay stream. */
  readonly rules: StreamRules;
  /** The last replays, for the console. */
  readonly replays: ReplayLog;
  /** The applications, users and grants. */
  readonly oauth: OAuthProvider;
  readonly signed: SignedRequests;
  /**
   * The archive without posts that compliance events hide, by default in the archive's own format. It is
   * opened on first use.
   *
   * @throws OptionError for a format that the archive does not have.
   */
  archive(format?: Format): Promise<Archive>;
  /** Waits until everything that is due by the clock is done, at most `maxMs` milliseconds of real time. */
  settled(maxMs?: number): Promise<void>;
}
