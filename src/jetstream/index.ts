export type { BatchCompression } from './compress.js';
export { type FromJetStreamOptions, fromJetStream } from './from-jet-stream.js';
export { JetStreamError, type JetStreamFailure } from './jet-stream-error.js';
export type { JetStreamGap } from './jet-stream-gap.js';
export type { JetStreamServers, JetStreamTls } from './servers.js';
export type { CreateStreamOptions } from './stream-settings.js';
export {
  type JetStreamBatchOptions,
  type PublishedToJetStream,
  type ToJetStreamOptions,
  toJetStream,
} from './to-jet-stream.js';
