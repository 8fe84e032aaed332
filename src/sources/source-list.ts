import { OptionError } from '../errors.js';
import { type FlowIdentity, identityOf } from '../flow/flow.js';
import type { Source } from '../flow/pipeline.js';
import { checkSource } from '../flow/pipeline-arguments.js';
import type { WebReadable } from '../flow/web-streams.js';

/** The items of a source; of several, any of theirs. */
export type ItemOf<From> =
  From extends AsyncIterable<infer Item>
    ? Item
    : From extends WebReadable<infer Item>
      ? Item
      : never;

/**
 * Checks the arguments of `merge` or `concat`.
 *
 * @throws OptionError
 */
export function checkSources(call: 'merge' | 'concat', sources: readonly unknown[]): void {
  if (sources.length === 0)
    throw new OptionError('source', `\`${call}\` has no source. Pass one or more`);
  sources.forEach((value, index) => {
    checkSource({ value, position: index + 1, of: call });
  });
}

/** Several sources as one; a checkpoint refuses other ones, or another order. */
export function identityOfSources(
  step: 'merge' | 'concat',
  sources: readonly Source<unknown>[],
): FlowIdentity {
  return [{ step, sources: sources.map(source => identityOf(source as AsyncIterable<unknown>)) }];
}
