import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Call, Reply } from './child.js';

/**
 * Runs a module of this folder in a separate process, so that the memory of the module can be
 * measured alone.
 */
export class ModuleProcess {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  constructor(name: string) {
    this.#name = name;
    const [child, module] = ['child.js', `${name}.js`].map(file =>
      path.join(import.meta.dirname, file),
    ) as [string, string];
    this.#child = fork(child, [module], { serialization: 'advanced' });
    this.#ended = once(this.#child, 'exit');
  }

  async call<Value>(name: string, ...args: readonly unknown[]) {
    this.#child.send({ name, args } satisfies Call);
    const reply = await Promise.race([
      once(this.#child, 'message').then(([message]) => message as Reply),
      this.#ended.then(() => undefined),
    ]);
    if (reply === undefined) throw new Error(`archive-search: the process of ${this.#name} ended`);
    if (reply.error !== undefined)
      throw new Error(`archive-search: ${this.#name}, ${name}: ${reply.error}`);
    return reply as Reply & { readonly value: Value };
  }

  async end(): Promise<void> {
    this.#child.disconnect();
    await this.#ended;
  }
}
