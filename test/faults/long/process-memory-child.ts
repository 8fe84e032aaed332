// Writes to 256 MiB of pages, and prints by how much the memory of the process has grown.
import { processMemory } from './process-memory.js';

const before = processMemory().all;
const kept = Buffer.alloc(256 * 2 ** 20, 1);
const after = processMemory().all;
console.log(JSON.stringify({ mebibytes: (after - before) / 2 ** 20, kept: kept.length }));
