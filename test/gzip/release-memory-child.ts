import { releaseMemory } from '../../src/gzip/release-memory.js';

// Runs in a new process, whose allocator has not allocated a large block yet. Repeatedly allocates,
// fills and releases blocks. Prints the page faults of all rounds except the first.
const [ROUNDS, BLOCKS, BYTES] = [10, 6, 4 << 20];
const round = () => {
  const blocks = Array.from({ length: BLOCKS }, () => Buffer.allocUnsafeSlow(BYTES).fill(1));
  for (const block of blocks) releaseMemory(block);
};
round();
const before = process.resourceUsage().minorPageFault;
for (let count = 0; count < ROUNDS; count++) round();
const faults = process.resourceUsage().minorPageFault - before;
console.log(JSON.stringify({ faults, pages: (ROUNDS * BLOCKS * BYTES) / 4096 }));
