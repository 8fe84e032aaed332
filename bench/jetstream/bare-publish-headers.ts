import { headers } from '@nats-io/transport-node';
import { publishWithClient } from './publish-with-client.js';
import { onTask } from './task.js';

// The peer of `toJetStream` with the same headers on each message and as many subjects. Fixed values and
// message numbers replace what `toJetStream` computes for its headers.
await onTask(task =>
  publishWithClient(task, ({ number, tags }) => {
    const all = headers();
    all.set('Nats-Expected-Stream', task.stream);
    all.set('Millrace-Publisher', task.stream);
    all.set('Millrace-Epoch', '1764300000000');
    all.set('Millrace-Subject-Position', `${number} ${Math.max(0, number - 500)} 1764300000000`);
    all.set('Millrace-Format', 'original');
    all.set('Millrace-Tags', tags);
    all.set('Millrace-Position', String(number));
    return { subject: `${task.stream}.${number % 8}`, headers: all };
  }),
);
