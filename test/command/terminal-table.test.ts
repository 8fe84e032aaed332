import { describe, expect, it } from 'vitest';
import { tableText, terminalText } from '../../src/command/terminal-table.js';

describe('a result on a terminal', () => {
  it('is a table of a list, aligned by the width of characters, without empty columns', () => {
    const rows = [
      { id: '1', tag: null, value: '雪' },
      { id: '22', tag: null, value: 'snow\nrain' },
    ];
    expect(terminalText(rows)).toBe('id  value\n1   雪\n22  snow rain\n');
    expect(tableText(rows, ['value', 'id'])).toBe('value      id\n雪         1\nsnow rain  22\n');
    expect(terminalText([])).toBe('None\n');
  });

  it('is a line for each member of an object', () => {
    const job = { uuid: 'a', quote: { costDollars: 3 }, rules: [1], note: undefined };
    expect(terminalText(job)).toBe(
      'uuid               a\nquote.costDollars  3\nrules              [1]\n',
    );
  });
});
