import { isRecord } from '../base/record.js';
import type { Json } from '../json/type-guards.js';
import type { FlowIdentity, FlowStep } from './flow.js';
import { internalsOf } from './internals.js';

type Options = Readonly<Record<string, Json | undefined>>;

/**
 * Describes how two flows differ. Returns `undefined` if they are the same. Called when a run
 * resumes from a checkpoint. Without this check, lines of different flows could be mixed in the
 * same files.
 */
export function flowDifference(before: FlowIdentity, now: FlowIdentity): string | undefined {
  const length = Math.max(before.length, now.length);
  const steps = Array.from({ length }, (_, index) => stepDifference(before[index], now[index]));
  return steps.find(difference => difference !== undefined);
}

export function stepDifference(
  before: FlowStep | undefined,
  now: FlowStep | undefined,
): string | undefined {
  if (before === undefined) return `${now?.step}() was not in it`;
  if (now === undefined) return `${before.step}() was in it, and is not now`;
  if (before.step !== now.step) return `${before.step}() is now ${now.step}()`;
  const [were, are] = [joinedSources(before), joinedSources(now)];
  if (were !== undefined && were.length === are?.length)
    return were
      .map((source, index) => flowDifference(source, are[index]!))
      .find(difference => difference !== undefined);
  const name = changedOption(before, now);
  if (name === undefined) return undefined;
  const [was, is] = [short(shown(before[name])), short(shown(now[name]))];
  return `\`${name}\` of ${now.step}() was ${was} and is now ${is}`;
}

/**
 * Returns the first option whose value has changed, in the order of `now`. If `before` has no `service`, that
 * is not a change, because older versions did not record it.
 */
export function changedOption(before: Options, now: Options): string | undefined {
  const names = new Set([...Object.keys(now), ...Object.keys(before)]);
  return [...names].find(name =>
    name === 'service' && before[name] === undefined
      ? false
      : shown(before[name]) !== shown(now[name]),
  );
}

/**
 * Whether a flow has an `incremental` source, alone or among joined sources. The next run of such a flow
 * continues where the last complete run ended.
 */
export function isIncremental(flow: FlowIdentity): boolean {
  return flow.some(
    step => step.incremental === true || (joinedSources(step)?.some(isIncremental) ?? false),
  );
}

/**
 * Whether a source of a flow reads the folder in which a file is, and selects files of that name. A later run of
 * the flow would then read the file.
 */
export function readsFile(flow: FlowIdentity, file: string): boolean {
  return flow.some(
    step =>
      internalsOf(step).reads?.(file) === true ||
      joinedSources(step)?.some(source => readsFile(source, file)) === true,
  );
}

function joinedSources({ step, sources }: FlowStep): readonly FlowIdentity[] | undefined {
  const isJoined = (step === 'merge' || step === 'concat') && Array.isArray(sources);
  const isFlow = (flow: unknown) => Array.isArray(flow) && flow.every(isRecord);
  return isJoined && sources.every(isFlow) ? (sources as unknown as FlowIdentity[]) : undefined;
}

export function shown(value: unknown): string {
  return value === undefined ? 'not given' : JSON.stringify(value);
}

function short(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}...` : text;
}
