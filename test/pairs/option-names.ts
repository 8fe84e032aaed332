import { unchecked } from '../unchecked.js';
import type { ValuesOfStages } from './values.js';

const UNKNOWN = 'x'.repeat(50);

/** Returns the options that a call accepts, as its error for an unknown option lists them. */
export async function optionNames(call: (options: never) => unknown): Promise<string[]> {
  try {
    await call(unchecked({ [UNKNOWN]: 1 }));
  } catch (error) {
    const [, list = ''] = /known are (.*)/.exec(String(error)) ?? [];
    return [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name!).toSorted();
  }
  return [];
}

export function listedOptions(
  stage: string,
  values: ValuesOfStages,
  fixed: readonly string[],
): string[] {
  const own = fixed.filter(key => key.startsWith(`${stage}.`));
  const varied = Object.keys(values[stage]!).filter(option => !option.startsWith('('));
  return [...varied, ...own.map(key => key.slice(stage.length + 1))].toSorted();
}
