/**
 * The core of all sinks that write files. A sink on it says how items become bytes, as a `Format`
 * (format.ts), and passes a plan to `fileSinkOn`; files.ts is the shortest example. The core does the rest:
 * paths, numbered files, compression, memory, limits of open files, locks, the checkpoint.
 *
 * A format makes an `Encoder` for each file: `encode` says what it takes for an item, `add` takes that, `flush` returns
 * the next bytes, `end` the last. For files of lines there is one already: `linesFormat({ encode, header })` (lines.ts),
 * where `encode` returns the line of an item, without a line feed, and each new file begins with the header. A format whose
 * files have an end, and cannot be continued, says so by `wholeFiles`: with a checkpoint, each commit ends all open files.
 * By `rows`, threads encode the posts of stored files that they hold (row-writer.ts).
 *
 * A plan has a function that returns the format: where a format needs a large library, the function loads it.
 * The options that all such sinks have are in file-sink-options.ts, where `planOf` makes a plan of them.
 * For an item that does not fit, `encode` or `add` throws a `DataError`.
 */
import { identityOf, type Sink } from '../../flow/flow.js';
import { withInternals } from '../../flow/internals.js';
import { type FileSystem, nodeFileSystem } from '../../storage/file-system.js';
import type { FileSinkPlan } from '../write/file-writer.js';
import type { Written } from '../write/written.js';
import { writeTogether } from './write-together.js';

/** A file sink, as `tee` sees it. */
export class FileSink {
  readonly fs: FileSystem;
  readonly plan: FileSinkPlan<unknown>;

  constructor(fs: FileSystem, plan: FileSinkPlan<unknown>) {
    this.fs = fs;
    this.plan = plan;
  }
}

/** Makes a sink of a plan. */
export function fileSinkOn<T>(fs: FileSystem, given: FileSinkPlan<T>): Sink<T, Written> {
  // Threads write to files of the system.
  const plan = { ...given, workers: fs === nodeFileSystem ? given.workers : 0 };
  const { checkpoint, settings } = plan;
  const sink: Sink<T, Written> = async (input, run = {}) => {
    const { signal: ended, progress } = run;
    const {
      written: [written],
    } = await writeTogether<T>(fs, {
      sinks: [{ plan, progress }],
      checkpoint,
      damaged: plan.damaged,
      progress,
      signal: ended,
      owner: { sink: settings, flow: identityOf(input) },
      read: async ({ writers: [writer], signal, before, committer, damaged }) =>
        writer?.write(
          input,
          { signal, progress, resume: before?.cursor, damaged },
          cursor => committer?.reached(cursor),
          async cursor => committer?.commitLast(cursor),
        ),
    });
    return written as Written;
  };
  // Only `tee` reads the plan, and gives it the items that the sink would get.
  const branch = new FileSink(fs, plan as FileSinkPlan<unknown>);
  return withInternals(sink, { holdsLocks: true, counts: true, branch });
}
