import { OptionError } from '../base/errors.js';
import { joinedFlow } from '../files/engine.js';
import type { Decoder, FileSource, SourceFile } from '../files/file-source.js';
import {
  type Batch,
  batchesOf,
  type Cursor,
  type Flow,
  identityOf,
  type Run,
} from '../flow/flow.js';
import { FlowRun } from '../flow/flow-run.js';
import type { OpenSource, SourcePart } from '../flow/merge-batches.js';
import { checkSource } from '../flow/pipeline-arguments.js';
import type { Source } from '../flow/stage.js';

/**
 * A function that reads several sources as one. `end` creates the `SourcePart` that marks the end of a
 * source. It gets the cursor at that end.
 */
type Join = <Part extends SourcePart>(
  sources: readonly OpenSource<Part>[],
  run: Run,
  end: (cursor: Cursor) => Part,
) => AsyncIterable<Part>;

/**
 * Joins several sources into one flow. The flow can be read as batches or as whole files. A checkpoint is
 * refused if the sources or their order have changed.
 *
 * @throws OptionError
 */
export function joinSources<T>(
  call: 'merge' | 'concat',
  sources: readonly Source<unknown>[],
  join: Join,
): Flow<T> {
  if (sources.length === 0)
    throw new OptionError('source', `\`${call}\` has no source. Pass one or more`);
  sources.forEach((value, index) => {
    checkSource({ value, position: index + 1, of: call });
  });
  const flows = sources as readonly AsyncIterable<T>[];
  const batches = flows.map(
    (flow): OpenSource<Batch<T>> =>
      pull =>
        batchesOf(flow, pull),
  );
  return joinedFlow(flows, {
    open: run => join(batches, run, cursor => ({ items: [], cursor })),
    join: files => (run, decoder) =>
      join(
        files.map(open => filesOf(open, decoder)),
        run,
        cursor => ({ cursor }),
      ),
    identity: [{ step: call, sources: flows.map(flow => identityOf(flow)) }],
  });
}

/**
 * Opens a source of whole files. When the opened source is closed, it releases the files that were not read.
 */
function filesOf(open: FileSource, decoder: Decoder | undefined): OpenSource<SourceFile> {
  const begin = (run: Run) => open(run, decoder);
  return pull => ({ [Symbol.asyncIterator]: () => new FlowRun<SourceFile, Run>(begin, pull) });
}
