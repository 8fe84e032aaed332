import type { FromJetStreamOptions } from '../../src/jetstream/from-jet-stream.js';
import type { ToJetStreamOptions } from '../../src/jetstream/to-jet-stream.js';
import type { Activity } from '../../src/post/activity.js';

/** What `posts-to-jetstream.ts` gets as its argument, as JSON. */
export interface PublishWork {
  /** The folder of the library as a URL with a slash at its end. */
  readonly library: string;
  /** The folder of stored files. */
  readonly archive: string;
  readonly perSecond: number;
  readonly servers: string[];
  readonly options: Omit<ToJetStreamOptions<Activity>, 'connection'>;
}

/** What `jetstream-to-files.ts` gets as its argument, as JSON. */
export interface ConsumeWork {
  /** The folder of the library as a URL with a slash at its end. */
  readonly library: string;
  readonly out: string;
  /** The file that has a line of JSON for each gap. */
  readonly gaps: string;
  readonly servers: string[];
  readonly options: Omit<FromJetStreamOptions, 'connection'>;
}
