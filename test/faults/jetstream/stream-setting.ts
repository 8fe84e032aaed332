import { mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { loadLibrary, loadModule } from '../load-library.js';
import { type BundledChild, bundleChild } from '../matrix/bundle-child.js';
import type { Cell, Counts, Setting, Trial } from '../part.js';
import type { Libraries } from './reader.js';
import { type ServerSetup, StreamWorld } from './stream-world.js';

export interface StreamCell extends Cell {
  /**
   * The maximum number of attempts of a trial. Each attempt plants the fault at another place,
   * until it takes effect. @default 5
   */
  readonly draws?: number | undefined;
  readonly attempt?: ((setting: StreamSetting, trial: Trial) => Promise<Counts>) | undefined;
}

export class StreamSetting {
  readonly libraries: Libraries;
  readonly #setting: Setting;
  readonly #known = new Map<string, Promise<unknown>>();

  static async open(setting: Setting): Promise<StreamSetting> {
    const millrace = await loadLibrary(setting);
    const jetstream = await loadModule(setting.library, 'jetstream/index');
    return new StreamSetting(setting, { millrace, jetstream });
  }

  private constructor(setting: Setting, libraries: Libraries) {
    this.#setting = setting;
    this.libraries = libraries;
  }

  once<T>(key: string, make: (folder: string) => Promise<T>): Promise<T> {
    const known = this.#known.get(key) as Promise<T> | undefined;
    const made = known ?? mkdtemp(path.join(this.#setting.folder, 'once-')).then(make);
    this.#known.set(key, made);
    return made;
  }

  world(setup: ServerSetup = 'default'): Promise<StreamWorld> {
    return this.once(`world with ${setup}`, () => StreamWorld.open(setup));
  }

  get child(): Promise<BundledChild> {
    const script = path.join(import.meta.dirname, 'reader-child.js');
    const entries = ['index', 'jetstream/index'];
    return this.once('bundle', () => bundleChild(this.#setting.library, { script, entries }));
  }

  async close(): Promise<void> {
    const made = await Promise.allSettled(this.#known.values());
    for (const one of made) {
      if (one.status !== 'fulfilled') continue;
      if (one.value instanceof StreamWorld) await one.value.close();
    }
    if (this.#known.has('bundle')) await (await this.child).remove();
  }
}
