import { unchecked } from '../unchecked.js';

const UNKNOWN = 'x'.repeat(50);

/** The options that a call knows, as its error for an unknown one lists them. */
export async function optionNames(call: (options: never) => unknown): Promise<string[]> {
  try {
    await call(unchecked({ [UNKNOWN]: 1 }));
  } catch (error) {
    const [, list = ''] = /known are (.*)/.exec(String(error)) ?? [];
    return [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name!);
  }
  return [];
}
