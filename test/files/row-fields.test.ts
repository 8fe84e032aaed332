import { expect, it } from 'vitest';
import { RowFields } from '../../src/files/row-fields.js';

it('columns that grow keep each number of each post', () => {
  const columns = RowFields.ofSize(1);
  const rows = Array.from({ length: 200 }, (_, n) => n);
  const combinations = rows.map(n => [`tag ${n}`, `tag ${n % 7}`, 'all']);
  for (const n of rows) {
    expect(columns.add(1_000 + n, 2_000 + n)).toBe(n);
    columns.setId(n, 3_000 + n, 4_000 + n);
    columns.setTags(n, combinations[n] as string[]);
    columns.setKeys(n, [`day ${n}`]);
  }
  const { starts, lengths, highs, lows, tags, keys, keySets, ...names } = new RowFields(
    columns.data(),
  );
  const { tagNames, tagSets, tagStarts } = names;
  const tagsOf = (set: number) =>
    Array.from(tagSets.subarray(tagStarts[set], tagStarts[set + 1]), tag => tagNames[tag]);
  const seen = rows.map(n => [
    ...[starts[n], lengths[n], highs[n], lows[n]],
    ...[tagsOf(tags[n] as number), keySets[keys[n] as number]],
  ]);
  expect(seen).toEqual(
    rows.map(n => [1_000 + n, 2_000 + n, 3_000 + n, 4_000 + n, combinations[n], [`day ${n}`]]),
  );
});
