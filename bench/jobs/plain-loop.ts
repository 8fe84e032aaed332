import { gunzipSync } from 'node:zlib';
import type { Work } from '../question.js';
import { Ids } from './ids.js';

const LISTING =
  '/historical/rulestream/accounts/bench/publishers/twitter/jobs/benchjob01/results.json';

/** A script without a library. It downloads one file after the other, and checks nothing. */
export async function run({ files, out }: Work): Promise<void> {
  const listing = await fetch(`${files[0]}${LISTING}`);
  const { urlList } = (await listing.json()) as { urlList: string[] };
  const ids = new Ids();
  for (const url of urlList) {
    const response = await fetch(url);
    const text = gunzipSync(Buffer.from(await response.arrayBuffer())).toString();
    for (const line of text.split('\n')) {
      if (line === '') continue;
      const post = JSON.parse(line) as { info?: unknown; id_str: string };
      if (post.info === undefined) ids.add(post.id_str);
    }
  }
  await ids.write(out);
}
