import { type Batches, type Flow, type FlowIdentity, OwnFlow } from '../flow/flow.js';
import type { FileBytes } from '../json/records.js';
import { bytesOfFile, type FilesOfPlan, filesOfPlan } from './engine.js';
import type { FileSource } from './file-source.js';
import { Plan } from './plan.js';
import { plannedFlow, type Unplanned } from './planned.js';

/** A source of whole files. */
export function fileFlow(open: FileSource, identity: FlowIdentity): Flow<FileBytes> {
  return new OwnFlow(
    async function* (run) {
      for await (const file of open(run, undefined)) yield* bytesOfFile(file) as Batches<FileBytes>;
    },
    { plan: Plan.of(filesOfPlan(open)), identity },
  );
}

/**
 * Several sources as one flow.
 *
 * @param open Reads the sources where the engine cannot run a plan of them all.
 * @param join Says in which order the files of sources of whole files come.
 */
export function joinedFlow<T>(
  sources: readonly AsyncIterable<unknown>[],
  {
    join,
    ...unplanned
  }: Unplanned<T> & { readonly join: (open: readonly FileSource[]) => FileSource },
): Flow<T> {
  return plannedFlow(
    sources,
    Plan.joined(sources, parts => filesOfPlan(join(parts.map(part => (part as FilesOfPlan).open)))),
    unplanned,
  );
}
