/**
 * Sends posts between machines through NATS JetStream.
 *
 * @module millrace/jetstream
 */

export type { JetStreamConnectionOptions } from './connection-options.js';
export { type FromJetStreamOptions, fromJetStream } from './from-jet-stream.js';
export { JetStreamError, type JetStreamFailure, type JetStreamGap } from './jet-stream-errors.js';
export type { BatchCompression, JetStreamBatchOptions } from './packer.js';
export type { PublishedToJetStream } from './publisher-entry.js';
export type { CreateStreamOptions } from './stream-settings.js';
export { type ToJetStreamOptions, toJetStream } from './to-jet-stream.js';
