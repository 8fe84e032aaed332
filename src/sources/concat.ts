import { cursorError } from '../base/check.js';
import { OptionError } from '../base/errors.js';
import { type Cursor, type Flow, identityOf, type Run } from '../flow/flow.js';
import { isIncremental } from '../flow/flow-identity.js';
import type { OpenSource, SourcePart } from '../flow/merge-batches.js';
import { ProgressParts } from '../flow/progress.js';
import type { ItemOf, Source } from '../flow/stage.js';
import { joinSources } from './join-sources.js';

/**
 * Reads sources one after the other. Each source is opened when the previous source is complete. The sources
 * may have items of different types. The items of the joined flow then have the union of these types.
 *
 * A resumed run continues within the source that the previous run had reached, and does not open earlier
 * sources. A checkpoint is refused if the sources or their order have changed.
 *
 * @param sources Flows, or anything else that `for await` can read. A source without cursors is read again
 * from its beginning when a run resumes.
 * @throws OptionError Immediately, if an argument is not a source, or there are no arguments.
 * @example
 * await pipeline(
 *   concat(localFiles('archive/2021'), localFiles('archive/2022')),
 *   gunzip(),
 *   jsonLines(),
 *   files({ path: 'all.jsonl' }),
 * );
 */
export function concat<const Sources extends readonly Source<unknown>[]>(
  ...sources: Sources
): Flow<ItemOf<Sources[number]>> {
  const joined = joinSources<ItemOf<Sources[number]>>('concat', sources, inTurn);
  if (sources.some(source => isIncremental(identityOf(source as AsyncIterable<unknown>))))
    throw new OptionError(
      'source',
      '`concat` cannot take a source that is `incremental`: it does not go back to a source that has ended. Use `merge`',
    );
  return joined;
}

/**
 * @param end Creates the `SourcePart` that marks the end of a source. Without this part, the bytes of the
 * next source would continue the last document of this source.
 */
async function* inTurn<Part extends SourcePart>(
  sources: readonly OpenSource<Part>[],
  run: Run,
  end: (cursor: Cursor) => Part,
): AsyncGenerator<Part, void, undefined> {
  const start = startOf(run.resume, sources.length);
  const parts = new ProgressParts(run.progress, sources.length);
  for (let index = 0; index < start.source; index++) parts.done(index);
  for (let index = start.source; index < sources.length; index++) {
    const resume = index === start.source ? start.inner : undefined;
    for await (const part of sources[index]!({ ...run, resume, progress: parts.of(index) })) {
      const cursor = part.cursor && { concat: index, inner: part.cursor };
      yield { ...part, cursor };
    }
    parts.done(index);
    yield end({ concat: index + 1, inner: null });
  }
}

function startOf(resume: Cursor | undefined, count: number) {
  if (resume === undefined) return { source: 0, inner: undefined };
  const { concat: source, inner } = resume;
  if (!Number.isInteger(source) || !((source as number) >= 0 && (source as number) <= count))
    throw cursorError(`is not one of concat() with these ${count} sources`);
  return { source: source as number, inner: (inner ?? undefined) as Cursor | undefined };
}
