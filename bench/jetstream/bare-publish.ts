import { publishWithClient } from './publish-with-client.js';
import { onTask } from './task.js';

// The peer of `toJetStream`, without headers and on one subject.
await onTask(task => publishWithClient(task, () => ({ subject: `${task.stream}.0` })));
