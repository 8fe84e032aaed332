import type { Activity } from '../../src/activity/activity.js';
import type { ToJetStreamOptions } from '../../src/jetstream/to-jet-stream.js';

/** What the script gets as its argument, as JSON. */
export interface PublishWork {
  /** The folder of the library as a URL with a slash at its end. */
  readonly library: string;
  /** The folder of stored files. */
  readonly archive: string;
  readonly perSecond: number;
  readonly options: ToJetStreamOptions<Activity>;
}

// The publisher that tests kill.
const { library, archive, perSecond, options } = JSON.parse(process.argv[2] ?? '') as PublishWork;
const { activities, gunzip, jsonLines, localFiles, pipeline, throttle } = (await import(
  new URL('index.js', library).href
)) as typeof import('../../src/index.js');
const { toJetStream } = (await import(
  new URL('jetstream/index.js', library).href
)) as typeof import('../../src/jetstream/index.js');

const result = await pipeline(
  localFiles(archive),
  gunzip(),
  jsonLines(),
  activities(),
  throttle({ perSecond }),
  toJetStream(options),
);
process.stdout.write(JSON.stringify(result));
