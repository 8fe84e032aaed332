import type { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { account, collect, pipeline, search } from 'millrace';
import { createService } from 'millrace/service';

// Runs scripts one after another in this process. Each script runs as `node SCRIPT` would run it.
// See `script-runner.ts`.

interface Script {
  readonly script: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly mark: string;
}

/** After a script has ended, it may keep the process open for this long. */
const OPEN_MS = 60_000;

// Starts a service that keeps the index of the default posts in memory. The services of all scripts
// share that index, so no script needs to build it.
const service = createService();
const query = { product: '30day', query: 'coffee', limit: 10 } as const;
await pipeline(search(account(await service.start()), query), collect());

/**
 * Events that a command listens to until its process ends. Its listeners are removed after each
 * script, because the next script runs in the same process.
 */
const LISTENED: readonly (readonly [EventEmitter, string])[] = [
  [process, 'warning'],
  [process, 'SIGINT'],
  [process, 'SIGTERM'],
  [process.stdout, 'error'],
  [process.stderr, 'error'],
];

let runs = 0;
process.on('uncaughtException', fail);
process.on('message', run);
// If the tests were killed, nothing reads the output of this process. Each write would then cause
// an error, and printing the error would cause another one.
process.once('disconnect', () => process.exit(1));
process.send?.('ready');

async function run({ script, args, cwd, env, mark }: Script): Promise<void> {
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.argv.splice(1, process.argv.length, script, ...args);
  process.exitCode = undefined;
  const before = process.getActiveResourcesInfo();
  const listeners = LISTENED.map(([emitter, event]) => emitter.listeners(event));
  try {
    await import(`${pathToFileURL(script).href}?run=${runs++}`);
    for (const end = performance.now() + OPEN_MS; ; await sleep(5)) {
      const open = added(before, process.getActiveResourcesInfo());
      if (open.length === 0) break;
      if (performance.now() > end) throw new Error(`The script has left open: ${open.join(', ')}`);
    }
  } catch (error) {
    fail(error);
  }
  for (const [index, [emitter, event]] of LISTENED.entries()) {
    emitter.removeAllListeners(event);
    for (const listener of listeners[index] ?? []) emitter.on(event, listener as () => void);
  }
  const code = Number(process.exitCode ?? 0);
  await Promise.all(
    [process.stdout, process.stderr].map(
      stream => new Promise(resolve => stream.write(mark, resolve)),
    ),
  );
  process.send?.({ code });
}

function fail(error: unknown): void {
  process.stderr.write(`${inspect(error)}\n`);
  process.exitCode = 1;
}

function added(before: readonly string[], now: readonly string[]): string[] {
  const rest = [...before];
  return now.filter(name => {
    const at = rest.indexOf(name);
    if (at !== -1) rest.splice(at, 1);
    return at === -1;
  });
}
