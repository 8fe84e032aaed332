import type { EncoderKind } from '../../files/encode-rows.js';
import { PostInBytes } from '../../post/bytes/post-in-bytes.js';
import { postRowReader, postRowWriter } from '../from-bytes/post-rows.js';
import type { PostColumnName } from '../post-columns.js';
import type { InvalidValues } from '../row-reader.js';
import { CsvCells } from './csv-cells.js';
import { csvRow } from './csv-row.js';

export interface CsvRowsOptions {
  readonly columns: readonly PostColumnName[];
  readonly invalidValues: InvalidValues;
  readonly escapesFormulas: boolean;
}

/** Rows of posts as CSV. */
export const CSV_ROWS: EncoderKind<CsvRowsOptions> = {
  name: 'csv',
  hasTasks: false,
  create: ({ columns, invalidValues, escapesFormulas }) => {
    const post = PostInBytes.ofThread();
    if (post !== undefined) {
      const out = new CsvCells(post.strings, escapesFormulas);
      const write = postRowWriter('csv', columns, invalidValues, { post, out });
      return each => {
        out.clear();
        each(write);
        return out.take();
      };
    }
    const read = postRowReader('csv', columns, invalidValues);
    return each => {
      let text = '';
      each((...row) => {
        text += `${csvRow(read(...row), escapesFormulas)}\n`;
      });
      return Buffer.from(text);
    };
  },
};
