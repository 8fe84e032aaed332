import { type Flags, flagsOf } from '../base/flags.js';
import { type RuleChanges, type renderRuleChanges, SYNC_OPTIONS } from '../replay/sync-rules.js';
import { CHECK_OPTIONS } from '../rules/language/check-rule.js';
import type { Problem } from '../rules/language/problem.js';
import { Call, exportNamed, type Script } from './call-script.js';
import { ACCOUNT, type Command, jsonIn, pipelineScript, SIGNAL } from './command.js';
import { rulesIn } from './stored-posts-commands.js';
import { tableText } from './terminal-table.js';

const SYNC = flagsOf(SYNC_OPTIONS, ['dryRun']);
const CHECK = flagsOf(CHECK_OPTIONS, ['product']);

const callOf = (
  name: string,
  { flags = [], more = '--json', ...rest }: CallDetails = {},
): Command => ({
  usage: 'RULES.json',
  flags,
  examples: ['rules.json', `rules.json ${more}`],
  build: ({ positionals: [file], options }) => {
    const rules = jsonIn(file as string, rulesIn);
    const given = { ...options(flags), ...SIGNAL };
    return { call: new Call(`replayRules.${name}`, [ACCOUNT, rules, given]), ...rest };
  },
});

interface CallDetails extends Pick<Script, 'table'> {
  readonly flags?: Flags;
  /** An additional flag for the second example. */
  readonly more?: string;
}

export const addCommand = callOf('add');
export const removeCommand = callOf('delete');
export const validateCommand = callOf('validate');
export const syncCommand = callOf('sync', {
  flags: SYNC,
  more: '--dry-run',
  table: (changes, library) =>
    `${(exportNamed(library, 'replayRules.renderChanges') as typeof renderRuleChanges)(changes as RuleChanges)}\n`,
});

export const listCommand: Command = {
  examples: ['', '--json > rules.jsonl'],
  build: given =>
    given.isTerminal
      ? {
          ...pipelineScript([new Call('replayRules.list', [ACCOUNT]), new Call('collect')]),
          report: undefined,
          table: rules => tableText(rules as readonly unknown[], ['id', 'value', 'tag']),
        }
      : pipelineScript([new Call('replayRules.list', [ACCOUNT]), new Call('stdout')]),
};

export const checkCommand: Command = {
  usage: 'RULE',
  flags: CHECK,
  examples: ["'snow (ice OR sleet) lang:en'", "'snow lang:en' --product search"],
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
