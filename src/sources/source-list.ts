import type { Decoder, FileSource, SourceFile } from '../engine/file-source.js';
import { OptionError } from '../errors.js';
import {
  type Batch,
  batchesOf,
  type Cursor,
  type FlowIdentity,
  identityOf,
  type Run,
} from '../flow/flow.js';
import { FlowRun } from '../flow/flow-run.js';
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

/** What a source delivers: batches of items, or whole files. */
export interface SourcePart {
  readonly cursor?: Cursor | undefined;
  readonly items?: readonly unknown[];
}

/** Begins to read a source. */
export type OpenSource<Part extends SourcePart> = (pull: Run) => AsyncIterable<Part>;

/** A source as batches. */
export function openBatches<T>(source: AsyncIterable<T>): OpenSource<Batch<T>> {
  return pull => batchesOf(source, pull);
}

/** A source as whole files, which is closed like one of batches. */
export function openFiles(open: FileSource, decoder: Decoder | undefined): OpenSource<SourceFile> {
  const begin = (run: Run) => open(run, decoder);
  return pull => ({ [Symbol.asyncIterator]: () => new FlowRun<SourceFile, Run>(begin, pull) });
}

/** Only a cursor, among batches. */
export function itemless(cursor: Cursor): Batch<never> {
  return { items: [], cursor };
}

/** Only a cursor, among whole files. */
export function fileless(cursor: Cursor): SourceFile {
  return { cursor };
}
