import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type MsgHdrs, nanos } from '@nats-io/transport-node';
import type { Task } from './task.js';

export interface Message {
  readonly id: string;
  readonly payload: Uint8Array;
  readonly number: number;
  readonly tags: string;
}

export interface Sent {
  readonly subject: string;
  readonly headers?: MsgHdrs;
}

/**
 * Publishes with only the NATS client, and ignores failures. The posts and their ids are in memory before
 * the measurement starts.
 */
export async function publishWithClient(
  { urls, stream, replicas, inFlight, files }: Task,
  sentAs: (message: Message) => Sent,
): Promise<() => Promise<number>> {
  const messages = new Map<string, Message>();
  for (const file of files)
    for (const line of gunzipSync(readFileSync(file)).toString().trimEnd().split('\n')) {
      const { id_str: id, matching_rules: rules = [] } = JSON.parse(line) as {
        readonly id_str: string;
        readonly matching_rules?: readonly { readonly tag: string }[];
      };
      const tags = JSON.stringify([...new Set(rules.map(({ tag }) => tag))]);
      messages.set(id, { id, payload: Buffer.from(line), number: messages.size, tags });
    }
  const connection = await connect({ servers: urls });
  const manager = await jetstreamManager(connection);
  return async () => {
    await manager.streams.add({
      name: stream,
      subjects: [`${stream}.>`],
      num_replicas: replicas,
      duplicate_window: nanos(120_000),
    });
    const js = jetstream(connection);
    const waiting = messages.values();
    // Each worker takes the next post once its previous post is acknowledged.
    const worker = async () => {
      for (const message of waiting) {
        const { subject, ...options } = sentAs(message);
        await js.publish(subject, message.payload, { msgID: message.id, ...options });
      }
    };
    await Promise.all(Array.from({ length: inFlight }, worker));
    await connection.close();
    return messages.size;
  };
}
