import { writeSync } from 'node:fs';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { stdout } from '../../src/sinks/stdout.js';

// The test runs this script. Arguments: the number of lines, and what to do afterwards.
const [count = '0', then] = process.argv.slice(2);

let closed = false;
const numbers = new Flow<number>(async function* ({ signal }) {
  try {
    for (let n = 0; n < Number(count); n += 1000)
      yield { items: Array.from({ length: Math.min(1000, Number(count) - n) }, (_, i) => n + i) };
    if (then !== 'wait') return;
    // This loop ends only when the pipe is closed.
    for (;;) {
      yield { items: [0] };
      await new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, 20);
        signal.addEventListener('abort', () => {
          clearTimeout(timer);
          reject(signal.reason);
        });
      });
    }
  } finally {
    closed = true;
  }
});

const written = await pipeline(numbers, stdout({ line: n => `line ${n} ${'x'.repeat(n % 60)}` }));
writeSync(2, JSON.stringify({ ...written, closed }));
if (then === 'exit') process.exit();
console.log('a word after the end');
