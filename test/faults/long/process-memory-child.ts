import { processMemory } from './process-memory.js';

const before = processMemory().all;
const kept = Buffer.alloc(256 * 2 ** 20, 1);
const after = processMemory().all;
console.log(JSON.stringify({ mebibytes: (after - before) / 2 ** 20, kept: kept.length }));
