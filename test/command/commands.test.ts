import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Flag, type FlagValue, optionsOf, parseFlags } from '../../src/base/flags.js';
import { Call, printScript, runScript, type Script } from '../../src/command/call-script.js';
import { allFlags, type Command, SHARED_FLAGS, SINK_FLAGS } from '../../src/command/command.js';
import { COMMANDS, helpFor } from '../../src/command/commands.js';
import { pageNamed, tableOf } from '../pages.js';
import { temporaryFolder } from '../temporary-folder.js';

const commands = await Promise.all(
  Object.entries(COMMANDS).map(async ([name, { load }]) => ({ name, command: await load() })),
);

function flagRows(): string[] {
  const rows = new Map<string, { readonly flag: Flag; readonly names: string[] }>();
  const add = (flag: Flag, name: string) => {
    const row = rows.get(flag.name) ?? { flag, names: [] };
    rows.set(flag.name, row);
    row.names.push(name);
  };
  for (const { name, command } of commands)
    for (const flag of allFlags(command))
      if (!SHARED_FLAGS.includes(flag)) add(flag, `\`${name}\``);
  for (const flag of SHARED_FLAGS) add(flag, 'all');
  return [...rows.values()]
    .toSorted((a, b) => (a.flag.name < b.flag.name ? -1 : 1))
    .map(
      ({ flag, names }) =>
        `| \`--${flag.name}\` | ${names.join(' ')} | ${flag.described.meaning} |`,
    );
}

const TOMBSTONES = await temporaryFolder();
await writeFile(path.join(TOMBSTONES, 'data.mdb'), '');

describe('the commands of millrace', () => {
  it('list all their flags in the table of src/command/README.md', () => {
    const rows = tableOf(pageNamed('src/command/README.md'), 'Flags', 'Flag');
    expect(rows.map(cells => `| ${cells.join(' | ')} |`).join('\n')).toBe(flagRows().join('\n'));
  });

  it('define no flag twice', () => {
    for (const { name, command } of commands) {
      const names = allFlags(command).map(flag => flag.name);
      expect([name, new Set(names).size]).toEqual([name, names.length]);
    }
  });

  it.each([
    ['posts.csv', 'csv'],
    ['posts.csv.gz', 'csv'],
    ['posts.parquet', 'parquet'],
    ['posts.jsonl', 'files'],
    ['posts.csv.zst', 'csv'],
    ['posts.CSV', 'csv'],
    ['posts.jsonl.gz', 'files'],
    ['posts.ndjson', 'files'],
    ['posts/{day}', 'files'],
    ['v1.2/{day}.gz', 'files'],
    ['-', 'stdout'],
  ])('choose for the file %s the sink %s', async (out, sink) => {
    expect(await stagesOf('convert', ['archive'], { out })).toEqual([
      ...['localFiles', 'gunzip', 'jsonLines', 'activities', 'dedupe', sink],
    ]);
  });

  it.each([
    ['x.txt', 'must end in .jsonl or .ndjson for JSON lines, .csv or .parquet'],
    ['x.json', 'name it x.jsonl'],
    ['x.json.gz', 'name it x.jsonl.gz'],
    ['{tag}/x.parquet.gz', 'name it {tag}/x.parquet'],
    ['x.csv.bz2', 'must end in'],
    ['x.xlsx', 'must end in'],
  ])(
    'refuse to write %s, with an error that names the allowed file extensions',
    async (out, problem) => {
      for (const [name, args] of OF_OUT) {
        const error = await refusalOf(scriptOf(name, args, { out }));
        expect([name, error]).toEqual([name, expect.stringContaining(problem)]);
      }
      await expect(scriptOf('write', [out])).rejects.toThrow(`FILES ${out}: `);
    },
  );

  it('reject --checkpoint, --columns, --max-bytes and --damaged without --out', async () => {
    for (const [name, args] of OF_OUT)
      for (const flag of ['checkpoint', 'columns', 'max-bytes', 'damaged'])
        for (const out of [undefined, '-']) {
          const values = { ...(out && { out }), [flag]: flag === 'max-bytes' ? '5' : 'id' };
          const error = await refusalOf(scriptOf(name, args, values));
          expect([name, error]).toEqual([name, expect.stringContaining(`--${flag} needs --out`)]);
        }
    await expect(scriptOf('search', ['a'], { out: 'a.jsonl', columns: 'id' })).rejects.toThrow(
      '--columns is for CSV and Parquet, and a.jsonl is neither',
    );
  });

  it.each(['write', 'match', 'rules test'])(
    'refuse --checkpoint for %s, whose next input it would not read',
    async name => {
      const { flags = [] } = (await COMMANDS[name]?.load()) ?? {};
      expect(() => parseFlags(name, flags, ['x', '--checkpoint', 'c.json'])).toThrow(
        'there is no flag --checkpoint',
      );
    },
  );

  it('behave differently with each flag than without it', async () => {
    for (const { name, command } of commands)
      for (const flag of command.flags ?? []) {
        const [args, others] = CALLS[name] ?? [];
        if (flag.name === 'out' || (flag.name === 'rules' && name.startsWith('job '))) continue;
        const without = { ...others, [flag.name]: undefined };
        const given = { ...without, [flag.name]: textFor(flag) };
        const { text } = await outcomeOf(name, args ?? [], without);
        const told = [name, flag.name, await outcomeOf(name, args ?? [], given)];
        expect(told).not.toMatchObject([name, flag.name, { text }]);
      }
  });

  it('ignore no flag when it is combined with another flag', async () => {
    const ignored: string[] = [];
    for (const { name, command } of commands)
      for (const [out, flag, other] of pairsOfFlags(command)) {
        // `--dry-run` checks the flags of the sink but writes nothing, so these flags do not change
        // the outcome.
        if (other.name === 'dry-run' && SINK_FLAGS.includes(flag)) continue;
        const [args = []] = CALLS[name] ?? [];
        const both = { ...out, [flag.name]: textFor(flag), [other.name]: textFor(other) };
        const outcome = await outcomeOf(name, args, both);
        if (outcome.isRefused) continue;
        for (const [given, beside] of [
          [flag, other],
          [other, flag],
        ] as const)
          if (
            (await outcomeOf(name, args, { ...both, [given.name]: undefined })).text ===
            outcome.text
          )
            ignored.push(`${name} ignores --${given.name} beside --${beside.name}`);
      }
    expect(ignored).toEqual([]);
  });

  it('parse the examples in their help, which has at most 24 lines', async () => {
    for (const { name, command } of commands) {
      for (const example of command.examples) {
        const [words = ''] = example.split(/ [<>] /);
        const args = [...words.matchAll(/'([^']*)'|(\S+)/g)].map(
          ([, quoted, plain]) => quoted ?? plain ?? '',
        );
        const { values, positionals } = parseFlags(name, allFlags(command), args);
        const required = (command.usage?.split(' ') ?? []).filter(one => !one.startsWith('['));
        expect([name, positionals.length >= required.length]).toEqual([name, true]);
        if (!NEEDS_FILES.includes(name))
          await scriptOf(name, positionals, values as Record<string, string>);
      }
      const help = helpFor(name, command);
      expect([name, help.split('\n').length <= 24]).toEqual([name, true]);
      expect(help).not.toContain('...  ');
    }
  });

  it('route posts by tag, but not counts, if the --out path contains {tag}', async () => {
    const out = '{tag}.jsonl';
    expect(await stagesOf('search', ['tea'], { out })).toEqual([
      ...['search', 'dedupe', 'routeByTag', 'files'],
    ]);
    expect(await stagesOf('counts', ['tea'], { out })).toEqual(['counts', 'files']);
  });

  it('include `match`, which drops posts that match no rule', async () => {
    const { call } = await scriptOf('match', ['rules.json'], { product: 'search' });
    const matchRules = call.args.find(
      stage => stage instanceof Call && stage.name === 'matchRules',
    );
    expect(matchRules).toMatchObject({
      args: [expect.anything(), { dropUnmatched: true, product: 'search' }],
    });
  });

  it('draw counts as a chart on a terminal unless --out names a file', async () => {
    expect(await stagesOf('counts', ['tea'], {}, true)).toEqual(['counts', 'chart']);
    expect(await stagesOf('counts', ['tea'], {}, false)).toEqual(['counts', 'stdout']);
    expect(await stagesOf('counts', ['tea'], { out: 'x.csv' }, true)).toEqual(['counts', 'csv']);
  });

  it('collect usage for a table on a terminal unless --out names a file', async () => {
    expect(await stagesOf('usage', [], {}, true)).toEqual(['usage.rows', 'collect']);
    expect(await stagesOf('usage', [], {}, false)).toEqual(['usage.rows', 'stdout']);
    expect(await stagesOf('usage', [], { out: 'x.csv' }, true)).toEqual(['usage.rows', 'csv']);
  });

  it('open tombstones without write access in `apply`', async () => {
    const script = printScript(await scriptOf('apply', [TOMBSTONES, 'posts']));
    expect(script).toContain(`await openTombstones('${TOMBSTONES}', { readOnly: true });`);
  });

  it('accept a job only after the user answers yes', async () => {
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

  it('close everything that they opened, even after an error', async () => {
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

async function scriptOf(
  name: string,
  positionals: readonly string[],
  values: Readonly<Record<string, FlagValue | undefined>> = {},
  isTerminal = false,
): Promise<Script> {
  const { command } = commands.find(one => one.name === name) as (typeof commands)[number];
  return command.build({ positionals, options: flags => optionsOf(flags, values), isTerminal });
}

const OF_OUT = [
  ['search', ['tea']],
  ['counts', ['tea']],
  ['replay', []],
  ['match', ['rules.json']],
  ['convert', ['archive']],
  ['usage', []],
] as const;

const CALLS: Readonly<
  Record<string, readonly [readonly string[], Readonly<Record<string, string>>?]>
> = {
  ...Object.fromEntries(OF_OUT.map(([name, args]) => [name, [args, { out: 'x.csv' }]])),
  write: [['x.csv']],
  'rules test': [['rules.json'], { out: 'x.csv' }],
  'rules sync': [['rules.json']],
  'rules check': [['tea']],
  apply: [[TOMBSTONES, 'posts']],
  'job run': [[], { out: 'x' }],
  'job download': [['abc'], { out: 'x' }],
};

/** Commands whose examples refer to tombstones that do not exist. */
const NEEDS_FILES = ['apply'];

const textFor = ({ isSwitch, described }: Flag) =>
  isSwitch || ['7', 'hide', 'keep'].find(value => described.accepts(value)) || '7';

async function refusalOf(script: Promise<Script>): Promise<string> {
  return script.then(
    () => 'not refused',
    error => String(error.message),
  );
}

async function outcomeOf(
  ...args: Parameters<typeof scriptOf>
): Promise<{ readonly text: string; readonly isRefused: boolean }> {
  return scriptOf(...args).then(
    script => ({ text: JSON.stringify([script.call, printScript(script)]), isRefused: false }),
    error => ({ text: String(error.message), isRefused: true }),
  );
}

/** Yields every pair of flags. A pair without `--out` is yielded once for each kind of `--out`. */
function* pairsOfFlags(
  command: Command,
): Generator<readonly [Readonly<Record<string, string>>, Flag, Flag]> {
  const flags = command.flags ?? [];
  const outs = flags.some(({ name }) => name === 'out')
    ? ['-', 'x', 'x.jsonl', 'x.csv', 'x.parquet']
    : [undefined];
  for (const [index, flag] of flags.entries())
    for (const other of flags.slice(index + 1))
      for (const out of flag.name === 'out' || other.name === 'out' ? [undefined] : outs)
        yield [out === undefined ? {} : { out }, flag, other];
}

async function stagesOf(...args: Parameters<typeof scriptOf>): Promise<readonly string[]> {
  const { call } = await scriptOf(...args);
  return call.args.flatMap(stage => (stage instanceof Call ? [stage.name] : []));
}
