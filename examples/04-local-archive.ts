// A folder of downloaded gzip files, to one file for each author, without asking the service anything.
import { activities, dedupe, files, filter, gunzip, jsonLines, localFiles, pipeline } from 'millrace';

const [folder = 'archive', out = 'out/authors'] = process.argv.slice(2);

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
