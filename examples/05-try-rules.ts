// Tests rules on stored posts before you pay for a job. Shows the problems of each rule, or how
// many posts it matches and one of these posts. Arguments: a folder of gzip files (out/archive),
// then the rules.
import { existsSync } from 'node:fs';
import { activities, gunzip, jsonLines, localFiles, pipeline, rules } from 'millrace';

const [folder = 'out/archive', ...given] = process.argv.slice(2);
const texts = given.length > 0 ? given : ['coffee has:links', '"music" (lang:en OR lang:es) -is:retweet'];
if (!existsSync(folder)) {
  console.error(`There is no folder ${folder}. For one with a few files of sample posts, run:
  npx tsx examples/07-stored-files-by-tag.ts
and then this example again. A folder of gzip files that you have downloaded does as well.`);
  process.exit(1);
}
const good: string[] = [];
for (const rule of texts) {
  const { tree, problems } = rules.check(rule, { product: 'historical' });
  for (const problem of problems) console.log(`${rules.renderProblem(rule, problem)}\n`);
  if (tree !== undefined) good.push(rule);
}
const matcher = rules.compileAll(good.map(rule => ({ value: rule, tag: rule })));
const samples = new Map<string, string[]>(good.map(rule => [rule, []]));
const posts = await pipeline(localFiles(folder), gunzip(), jsonLines(), activities(), async input => {
  let count = 0;
  for await (const post of input) {
    count++;
    for (const { tag } of matcher.match(post)) samples.get(tag ?? '')?.push(post.text);
  }
  return count;
});
for (const [rule, found] of samples)
  console.log(`${found.length} of ${posts} posts match ${rule}, such as: ${found[0] ?? 'none'}`);
