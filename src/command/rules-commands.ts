import { SYNC_OPTIONS } from '../replay/sync-rules.js';
import { CHECK_OPTIONS } from '../rules/language/check-rule.js';
import type { Problem } from '../rules/language/problem.js';
import { Call, exportNamed } from './call-script.js';
import { ACCOUNT, type Command, jsonIn, pipelineScript, SIGNAL } from './command.js';
import { type Flags, flagsOf } from './flags.js';
import { rulesIn } from './stored-posts-commands.js';

const SYNC = flagsOf(SYNC_OPTIONS, ['dryRun']);
const CHECK = flagsOf(CHECK_OPTIONS, ['product']);

/** A call that takes the rules of a file. */
const callOf = (name: string, flags: Flags = []): Command => ({
  usage: 'RULES.json',
  flags,
  build: ({ positionals: [file], options }) => {
    const rules = jsonIn(file as string, rulesIn);
    const call = new Call(`replayRules.${name}`, [
      ACCOUNT,
      rules,
      { ...options(flags), ...SIGNAL },
    ]);
    return { call };
  },
});

export const add = callOf('add');
export const remove = callOf('delete');
export const validate = callOf('validate');
export const sync = callOf('sync', SYNC);

/** Lists the rules of the replay stream. */
export const list: Command = {
  build: () => pipelineScript([new Call('replayRules.list', [ACCOUNT]), new Call('stdout')]),
};

/** Checks a rule without a request. */
export const check: Command = {
  usage: 'RULE',
  flags: CHECK,
  build: ({ positionals: [rule], options }) => ({
    call: new Call('rules.check', [rule, options(CHECK)]),
    report(result, library) {
      const render = exportNamed(
        library,
        'rules.renderProblem',
      ) as typeof import('../rules/rules.js').renderProblem;
      return problemsOf(result)
        .map(problem => render(rule as string, problem))
        .join('\n\n');
    },
    isWrong: result => problemsOf(result).some(({ severity }) => severity === 'error'),
  }),
};

const problemsOf = (result: unknown) =>
  (result as { readonly problems: readonly Problem[] }).problems;
