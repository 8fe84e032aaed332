import { describe, expect, it } from 'vitest';
import { tableText, terminalText } from '../../src/command/terminal-table.js';

describe('a command result on a terminal', () => {
  it('prints a list as a table aligned by display width, without empty columns', () => {
    const rows = [
      { id: '1', tag: null, value: '雪' },
      { id: '22', tag: null, value: 'snow\nrain' },
    ];
    expect(terminalText(rows)).toBe('id  value\n1   雪\n22  snow rain\n');
    expect(tableText(rows, ['value', 'id'])).toBe('value      id\n雪         1\nsnow rain  22\n');
    expect(terminalText([])).toBe('None\n');
  });

  it('prints an object as one line per member', () => {
    const job = { uuid: 'a', quote: { costDollars: 3 }, rules: [1], note: undefined };
    expect(terminalText(job)).toBe(
      'uuid               a\nquote.costDollars  3\nrules              [1]\n',
    );
  });
});
