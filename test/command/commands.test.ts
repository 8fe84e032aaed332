import { describe, expect, it } from 'vitest';
import { SHARED_FLAGS } from '../../src/command/command.js';
import { COMMANDS } from '../../src/command/commands.js';
import type { Flag } from '../../src/command/flags.js';
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
    for (const flag of command.flags) add(flag, `\`${name}\``);
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
      const names = [...command.flags, ...SHARED_FLAGS].map(flag => flag.name);
      expect([name, new Set(names).size]).toEqual([name, names.length]);
    }
  });
});
