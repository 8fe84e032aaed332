import { freeMemory } from '../../src/gzip/free-memory.js';

// Takes, fills and frees four large blocks time and again, and prints how many pages the system had to
// give after the first time.
const BLOCK = 4_500_000;
const [rounds = 0] = process.argv.slice(2).map(Number);

takeAndFree();
const before = process.resourceUsage().minorPageFault;
for (let round = 0; round < rounds; round++) takeAndFree();
console.log(process.resourceUsage().minorPageFault - before);

function takeAndFree(): void {
  const blocks = Array.from({ length: 4 }, () => Buffer.allocUnsafeSlow(BLOCK).fill(1));
  blocks.forEach(freeMemory);
}
