import { unchecked } from '../unchecked.js';

const UNKNOWN = 'x'.repeat(50);

/** Returns the options that a call accepts, as listed by its error for an unknown option. */
export async function optionNames(call: (options: never) => unknown): Promise<string[]> {
  try {
    await call(unchecked({ [UNKNOWN]: 1 }));
  } catch (error) {
    const [, list = ''] = /known are (.*)/.exec(String(error)) ?? [];
    return [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name!);
  }
  return [];
}
