import type { FlowIdentity, FlowStep } from './flow.js';

/**
 * Describes how two flows differ, or returns `undefined` where they are the same. Lines of different flows
 * do not belong in the same files.
 */
export function flowDifference(before: FlowIdentity, now: FlowIdentity): string | undefined {
  const length = Math.max(before.length, now.length);
  for (let i = 0; i < length; i++) {
    const difference = stepDifference(before[i], now[i]);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

/** The same for one step. */
export function stepDifference(
  before: FlowStep | undefined,
  now: FlowStep | undefined,
): string | undefined {
  if (before === undefined) return `${now?.step}() was not in it`;
  if (now === undefined) return `${before.step}() was in it, and is not now`;
  if (before.step !== now.step) return `${before.step}() is now ${now.step}()`;
  for (const name of new Set([...Object.keys(before), ...Object.keys(now)])) {
    const [was, is] = [shown(before[name]), shown(now[name])];
    if (was !== is) return `\`${name}\` of ${now.step}() was ${short(was)} and is now ${short(is)}`;
  }
  return undefined;
}

function shown(value: unknown): string {
  return value === undefined ? 'not given' : JSON.stringify(value);
}

function short(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}...` : text;
}
