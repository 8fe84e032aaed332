import path from 'node:path';
import { optionError } from '../../base/check.js';
import { OptionError } from '../../base/errors.js';
import { type Argument, internalsOf } from '../../flow/internals.js';
import { checkSink, composedOf } from '../../flow/pipeline-arguments.js';
import { CommittedSink } from '../committed.js';
import { FileSink } from './file-sink.js';
import { checkDamagedOf, mustDiffer } from './file-sink-options.js';

export interface BranchPlan {
  readonly position: number;
  readonly stages: readonly Argument[];
  readonly sink: Argument;
}

export interface FileBranch extends BranchPlan {
  readonly file: FileSink;
}

export interface CommittedBranchPlan extends BranchPlan {
  readonly committed: CommittedSink;
}

/** The branches of `tee`, by what their sinks take part in. */
export interface BranchPlans {
  readonly files: readonly FileBranch[];
  /** The branch to `committed`, whose text is the checkpoint then. */
  readonly committed: CommittedBranchPlan | undefined;
  /** The branches to other sinks. */
  readonly others: readonly BranchPlan[];
}

/** Checks the sinks that `tee` got, and tells its branches apart. @throws OptionError */
export function planBranches(
  values: readonly unknown[],
  {
    checkpoint,
    damaged,
  }: { readonly checkpoint: string | undefined; readonly damaged: string | undefined },
): BranchPlans {
  if (values.length === 0)
    throw new OptionError('sink', '`tee` has no branch. Pass sinks, such as `files(...)`');
  const branches = values.map((value, index) =>
    branchOf({ value, position: index + 1, of: 'tee' }),
  );
  const files = branches.filter(branch => 'file' in branch);
  const [committed, second] = branches.filter(branch => 'committed' in branch);
  const others = branches.filter(branch => !('file' in branch || 'committed' in branch));
  if (committed !== undefined) checkCommitted(committed, { second, checkpoint });
  for (const { file, position } of files) {
    const { settings } = file.plan;
    for (const name of ['checkpoint', 'damaged'] as const)
      if (file.plan[name] !== undefined)
        throw optionError(
          settings.step,
          name,
          `must not be given in branch ${position} of tee(): give it to tee itself, \`tee(...branches, { ${name} })\``,
        );
    if (checkpoint !== undefined) mustDiffer(settings.step, file.plan, checkpoint);
  }
  for (const [name, file] of Object.entries({ checkpoint, damaged }))
    if (file !== undefined && files.length === 0 && committed === undefined)
      throw optionError('tee', name, 'needs a branch that writes files, and there is none');
  if (damaged !== undefined)
    checkDamagedOf('tee', damaged, { plans: files.map(({ file }) => file.plan), checkpoint });
  refuseSharedPaths(files);
  return { files, committed, others };
}

/** Its text is the checkpoint of all, which needs that text and rows are saved as a whole. */
function checkCommitted(
  { committed, position }: CommittedBranchPlan,
  {
    second,
    checkpoint,
  }: {
    readonly second: CommittedBranchPlan | undefined;
    readonly checkpoint: string | undefined;
  },
): void {
  if (second !== undefined)
    throw optionError(
      'tee',
      'sink',
      `must have one branch that ends in committed(), and ${position} and ${second.position} do: two targets cannot commit as a whole. Write to both in one \`transaction\`, or run a pipeline for each`,
    );
  if (checkpoint !== undefined)
    throw optionError(
      'tee',
      'checkpoint',
      `must not be given with committed() in branch ${position}: the text that its \`save\` saves is the checkpoint of all branches`,
    );
  if (committed.options.damaged !== undefined)
    throw optionError(
      'committed',
      'damaged',
      `must not be given in branch ${position} of tee(): give it to tee itself, \`tee(...branches, { damaged })\``,
    );
  if (committed.options.transaction === undefined)
    throw optionError(
      'committed',
      'transaction',
      `is missing in branch ${position} of tee(): rows, cursor and the counts of the files are saved as a whole. Without transactions, write the files first and read them by localFiles`,
    );
}

function branchOf(argument: Argument): BranchPlan | FileBranch | CommittedBranchPlan {
  checkSink(argument);
  const { stages, last } = composedOf(argument);
  const branch = { position: argument.position, stages, sink: last };
  const { branch: as } = internalsOf(last.value);
  if (as instanceof FileSink) return { ...branch, file: as };
  return as instanceof CommittedSink ? { ...branch, committed: as } : branch;
}

/** Paths that differ may still give one file: that is seen when the second branch opens it. */
function refuseSharedPaths(files: readonly FileBranch[]): void {
  const seen = new Map<string, number>();
  for (const { file, position } of files) {
    const { path: target, settings } = file.plan;
    if (typeof target === 'function') continue;
    const template = path.normalize(String(settings.path));
    const first = seen.get(template);
    if (first !== undefined)
      throw optionError(
        settings.step,
        'path',
        `must differ in each branch of tee(): branches ${first} and ${position} have ${JSON.stringify(template)}`,
      );
    seen.set(template, position);
  }
}
