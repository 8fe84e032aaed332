import type { PublishWork } from './chaos-work.js';
import { connecting } from './connecting.js';

const { library, archive, perSecond, servers, options } = JSON.parse(
  process.argv[2] ?? '',
) as PublishWork;
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
  toJetStream({ ...options, connection: connecting(servers) }),
);
process.stdout.write(JSON.stringify(result));
