import type { FromJetStreamOptions } from '../../src/jetstream/from-jet-stream.js';
import type { ToJetStreamOptions } from '../../src/jetstream/to-jet-stream.js';
import type { Activity } from '../../src/post/activity.js';

/** The argument of `posts-to-jetstream.ts`, passed as JSON. */
export interface PublishWork {
  /** The URL of the library's folder, ending in a slash. */
  readonly library: string;
  readonly archive: string;
  readonly perSecond: number;
  readonly servers: string[];
  readonly options: Omit<ToJetStreamOptions<Activity>, 'connection'>;
}

/** The argument of `jetstream-to-files.ts`, passed as JSON. */
export interface ConsumeWork {
  readonly library: string;
  readonly out: string;
  /** The file to which each gap is appended as a line of JSON. */
  readonly gaps: string;
  readonly servers: string[];
  readonly options: Omit<FromJetStreamOptions, 'connection'>;
}
