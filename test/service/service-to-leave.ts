import { createService } from '../../src/service/index.js';

// Leaves the scope of a service while the service is in use. The process must then exit by itself.
const isHeld = process.argv[2] === 'service';
async function use(): Promise<void> {
  await using service = isHeld ? createService() : undefined;
  const started = service ?? createService();
  await using addresses = isHeld ? undefined : await started.start();
  const { baseUrl } = addresses ?? (await started.start());
  // At this point, there is an idle connection, and a job that waits for a decision.
  await (await fetch(`${baseUrl}/status`)).text();
  process.stdout.write(`${started.listening}\n`);
}
await use();
process.stdout.write('left\n');
