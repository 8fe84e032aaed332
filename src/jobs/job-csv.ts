import { DataError } from '../errors.js';
import { checkFileUrl, excerptWithoutQuery } from './file-url.js';
import type { JobCsvFile } from './job.js';

/**
 * The CSV listing of a job: on each line the name of a file, a tab and its address. No lines are a job
 * without files.
 *
 * @throws DataError that is worth another try, for anything else: a page of a proxy, or JSON.
 */
export function parseJobCsv(text: string, origin: string): JobCsvFile[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line, index) => {
    const place = { origin, line: index + 1 };
    const [name = '', url, ...rest] = line.split('\t');
    if (name === '' || url === undefined || rest.length > 0 || /\p{Cc}/u.test(name))
      throw new DataError(
        `The answer is not the files of a job: expected a name, a tab and an address, got ${line === '' ? 'an empty line' : excerptWithoutQuery(line)}`,
        { place, retryable: true },
      );
    checkFileUrl(url, place);
    return { name, url };
  });
}
