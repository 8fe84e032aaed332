import { workerData } from 'node:worker_threads';
import type { Work } from '../question.js';
import { run } from './millrace.js';

await run(workerData as Work);
