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

export interface ServiceContext {
  readonly settings: ServiceSettings;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly quotas: Quotas;
  readonly usage: UsageMeter;
  readonly requests: RequestLog;
  readonly streams: Set<OpenStream>;
  /** The posts of the option `posts`, and posts that a test has added. */
  readonly posts: Posts;
  readonly compliance: Compliance;
  /** The rules of the replay stream. */
  readonly rules: StreamRules;
  readonly replays: ReplayLog;
  readonly oauth: OAuthProvider;
  readonly signed: SignedRequests;
  /**
   * The archive without posts that compliance events hide, by default in the archive's own format. It is
   * opened on first use.
   *
   * @throws OptionError for a format that the archive does not have.
   */
  archive(format?: Format): Promise<Archive>;
  /**
   * Waits until all jobs are idle, for example because they wait for the clock or for a decision of the
   * customer. Waits at most `maxMs` milliseconds of real time.
   */
  settled(maxMs?: number): Promise<void>;
}
