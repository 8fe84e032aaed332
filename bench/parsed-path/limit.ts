import { inflatedFile } from '../inflated-file.js';
import type { Work } from '../question.js';

const LF = 10;

export async function run({ files, posts }: Work): Promise<void> {
  let parsed = 0;
  for (const file of files) {
    const plain = inflatedFile(file);
    for (let start = 0, end = plain.indexOf(LF); end !== -1; end = plain.indexOf(LF, start)) {
      JSON.parse(plain.toString('utf8', start, end));
      parsed++;
      start = end + 1;
    }
  }
  if (parsed !== posts) throw new Error(`Parsed ${parsed} posts of ${posts}`);
}
