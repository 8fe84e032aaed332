import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import type { ColumnType, RowValue } from '../../../src/tables/column.js';
import { encodeChunks } from '../../../src/tables/parquet/column-chunk.js';
import type { ParquetCompression } from '../../../src/tables/parquet/page-codec.js';
import { ParquetFile } from '../../../src/tables/parquet/parquet-file.js';
import { type RowBlock, RowBlockBuilder } from '../../../src/tables/parquet/row-block.js';

/**
 * Writes one column. Returns its chunk, and the values that another implementation reads from the
 * chunk.
 */
export async function written(
  type: ColumnType,
  blocks: readonly (readonly RowValue[])[],
  compression: ParquetCompression = 'snappy',
) {
  const made = blocks.map(values => blockOf(type, values));
  const chunks = encodeChunks({
    types: [type],
    parts: made.map(({ parts }) => parts[0]!),
    compression,
  });
  const rows = made.reduce((sum, block) => sum + block.rows, 0);
  const file = new ParquetFile([{ name: 'value', type }], compression);
  const bytes = Buffer.concat([...file.rowGroup(rows, chunks), file.footer()]);
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const read = await parquetReadObjects({ file: buffer as ArrayBuffer, compressors });
  return { chunk: chunks[0]!, values: read.map(({ value }) => value) };
}

function blockOf(type: ColumnType, values: readonly RowValue[]): RowBlock {
  const builder = new RowBlockBuilder([type]);
  for (const value of values) builder.add([value]);
  return builder.take();
}
