import { describe, expect, it } from 'vitest';
import { Call, runScript, type Script } from '../../src/command/call-script.js';
import { COMMANDS } from '../../src/command/commands.js';
import { type Flag, optionsOf, SHARED_FLAGS } from '../../src/command/flags.js';
import { pageNamed, tableOf } from '../pages.js';

const commands = await Promise.all(
  Object.entries(COMMANDS).map(async ([name, { load }]) => ({ name, command: await load() })),
);

/** A row of the page for each flag, with the commands that have it. */
function flagRows(): string[] {
  const rows = new Map<string, { readonly flag: Flag; readonly names: string[] }>();
  const add = (flag: Flag, name: string) => {
    const row = rows.get(flag.name) ?? { flag, names: [] };
    rows.set(flag.name, row);
    row.names.push(name);
  };
  for (const { name, command } of commands)
    for (const flag of command.flags ?? []) add(flag, `\`${name}\``);
  for (const flag of SHARED_FLAGS) add(flag, 'all');
  return [...rows.values()]
    .toSorted((a, b) => (a.flag.name < b.flag.name ? -1 : 1))
    .map(
      ({ flag, names }) =>
        `| \`--${flag.name}\` | ${names.join(' ')} | ${flag.described.meaning} |`,
    );
}

describe('commands', () => {
  it('have their flags in a table of the page', () => {
    const rows = tableOf(pageNamed('src/command/README.md'), 'Flags', 'Flag');
    expect(rows.map(cells => `| ${cells.join(' | ')} |`).join('\n')).toBe(flagRows().join('\n'));
  });

  it('have each flag once', () => {
    for (const { name, command } of commands) {
      const names = [...(command.flags ?? []), ...SHARED_FLAGS].map(flag => flag.name);
      expect([name, new Set(names).size]).toEqual([name, names.length]);
    }
  });

  it.each([
    ['posts.csv', 'csv'],
    ['posts.csv.gz', 'csv'],
    ['posts.parquet', 'parquet'],
    ['posts.jsonl', 'files'],
    ['posts.jsonl.gz', 'files'],
  ])('write %s with %s', async (out, sink) => {
    expect(await stagesOf('convert', ['archive'], { out })).toEqual([
      ...['localFiles', 'gunzip', 'jsonLines', 'activities', 'dedupe', sink],
    ]);
  });

  it('route posts by tag where the path has one, and never counts', async () => {
    const out = '{tag}.jsonl';
    expect(await stagesOf('search', ['tea'], { out })).toEqual([
      ...['search', 'dedupe', 'routeByTag', 'files'],
    ]);
    expect(await stagesOf('counts', ['tea'], { out })).toEqual(['counts', 'files']);
  });

  it('pass on only posts that a rule matches', async () => {
    const { call } = await scriptOf('match', ['rules.json'], { product: 'search' });
    const matchRules = call.args.find(
      stage => stage instanceof Call && stage.name === 'matchRules',
    );
    expect(matchRules).toMatchObject({
      args: [expect.anything(), { dropUnmatched: true, product: 'search' }],
    });
  });

  it('draw counts as a chart on a terminal, unless --out names a file', async () => {
    expect(await stagesOf('counts', ['tea'], {}, true)).toEqual(['counts', 'chart']);
    expect(await stagesOf('counts', ['tea'], {}, false)).toEqual(['counts', 'stdout']);
    expect(await stagesOf('counts', ['tea'], { out: 'x.csv' }, true)).toEqual(['counts', 'csv']);
  });

  it('ask before a job is accepted, and accept nothing without a yes', async () => {
    const script = await scriptOf('job accept', ['abc']);
    const accepted: unknown[] = [];
    const library = {
      account: () => 'an account',
      jobs: { accept: (...args: readonly unknown[]) => accepted.push(args[1]) },
    };
    const running = { library, signal: new AbortController().signal, progress: 'off' } as const;
    const refuse = () => Promise.reject(new Error('Not confirmed'));
    await expect(runScript(script, { ...running, confirm: refuse })).rejects.toThrow('Not conf');
    expect(accepted).toEqual([]);
    await runScript(script, { ...running, confirm: async () => true });
    expect(accepted).toEqual(['abc']);
  });

  it('close what they opened, also after an error', async () => {
    const closed: string[] = [];
    const library = {
      open: (name: string) => ({ close: () => closed.push(name) }),
      fail: () => Promise.reject(new Error('full')),
    };
    const a = new Call('open', ['a'], 'a');
    const script: Script = { call: new Call('fail', [a, new Call('open', ['b'], 'b'), a]) };
    const running = { library, signal: new AbortController().signal, progress: 'off' } as const;
    await expect(runScript(script, { ...running, confirm: async () => true })).rejects.toThrow();
    expect(closed).toEqual(['a', 'b']);
  });
});

/** The script of a command with these values of flags. */
async function scriptOf(
  name: string,
  positionals: readonly string[],
  values: Readonly<Record<string, unknown>> = {},
  isTerminal = false,
): Promise<Script> {
  const { command } = commands.find(one => one.name === name) as (typeof commands)[number];
  return command.build({ positionals, options: flags => optionsOf(flags, values), isTerminal });
}

/** The names of the stages of its pipeline. */
async function stagesOf(...args: Parameters<typeof scriptOf>): Promise<readonly string[]> {
  const { call } = await scriptOf(...args);
  return call.args.flatMap(stage => (stage instanceof Call ? [stage.name] : []));
}
