import { describe, expect, it } from 'vitest';
import { OptionError } from '../../../src/base/errors.js';
import { csv } from '../../../src/sinks/csv.js';
import { files } from '../../../src/sinks/files.js';
import { parquet } from '../../../src/sinks/parquet.js';

describe('the file extension of a path template', () => {
  it.each([
    ['files', 'x.parquet', 'parquet', () => files({ path: 'x.parquet' })],
    ['files', 'out/{day}.CSV', 'csv', () => files({ path: 'out/{day}.CSV' })],
    ['files', 'x.csv.gz', 'csv', () => files({ path: 'x.csv.gz' })],
    ['files', 'x.parquet.gz', 'parquet', () => files({ path: 'x.parquet.gz' })],
    ['csv', 'x.jsonl', 'files', () => csv({ path: 'x.jsonl' })],
    ['csv', 'x.json.gz', 'files', () => csv({ path: 'x.json.gz' })],
    ['csv', 'x.parquet', 'parquet', () => csv({ path: 'x.parquet' })],
    ['parquet', 'x.csv', 'csv', () => parquet({ path: 'x.csv' })],
    ['parquet', 'x.ndjson', 'files', () => parquet({ path: 'x.ndjson' })],
  ])('in %s() may not be that of %s, and the error names %s()', (sink, _, meant, call) => {
    expect(call).toThrow(OptionError);
    expect(call).toThrow(
      new RegExp(
        `^${sink}: .path. must not end in \\.\\w+: ${sink}\\(\\) writes .*Use ${meant}\\(\\)`,
      ),
    );
  });

  it.each(['x.parquet', 'x.parquet.gz', 'x.parquet.zst'])(
    'in files() may not be that of %s, even if a function makes the lines',
    path => {
      expect(() => files({ path, line: String })).toThrow(/Use parquet\(\)/);
    },
  );

  it('in a sink may be any other one if a function makes the lines or the extension is unknown', () => {
    expect(files({ path: 'x.csv', line: String })).toBeTypeOf('function');
    for (const path of ['x', 'x.json', 'x.txt', 'csv/x.jsonl.gz', 'x.csv.d/y'])
      expect(files({ path })).toBeTypeOf('function');
    expect(csv({ path: 'x.csv.gz' })).toBeTypeOf('function');
    expect(csv({ path: 'x.tsv' })).toBeTypeOf('function');
    expect(parquet({ path: 'x.parquet' })).toBeTypeOf('function');
  });
});
