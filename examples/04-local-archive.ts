// Splits a folder of downloaded gzip files into one file per author, without sending requests.
import { existsSync } from 'node:fs';
import { activities, dedupe, files, filter, gunzip, jsonLines, localFiles, pipeline } from 'millrace';

const [folder = 'out/archive', out = 'out/authors'] = process.argv.slice(2);
if (!existsSync(folder)) {
  console.error(`There is no folder ${folder}. For one with a few files of sample posts, run:
  npx tsx examples/07-stored-files-by-tag.ts
and then this example again. A folder of gzip files that you have downloaded does as well.`);
  process.exit(1);
}

const written = await pipeline(
  localFiles(folder),
  gunzip(),
  jsonLines(),
  activities(),
  dedupe(),
  filter(activity => activity.verb === 'post'),
  files({ path: `${out}/{author}.jsonl` }),
);
console.log(`${written.posts} posts of ${written.files.length} authors in ${out}`);
