// Processes damaged records again. A first run writes the records that it cannot use to a file,
// with their exact bytes and the reasons. A second run repairs them if possible and adds them to
// the other posts. Both runs can be repeated.
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { activities, files, jsonLines, localFiles, perBatch, pipeline } from 'millrace';
import { samplePosts } from 'millrace/service';

// Three files of posts: a valid one, one of server-sent events, and one whose last line is
// truncated.
if (!existsSync('out/received')) {
  await mkdir('out/received', { recursive: true });
  const [whole, events, cut] = [0, 1, 2].map(minute =>
    samplePosts(Date.UTC(2024, 0, 1, 12, minute), { postsPerMinute: 10 }).map(post => `${post.raw}`),
  );
  await writeFile('out/received/1.jsonl', `${whole?.join('\n')}\n`);
  await writeFile('out/received/2.jsonl', `${events?.map(post => `data: ${post}`).join('\n')}\n`);
  await writeFile('out/received/3.jsonl', `${cut?.join('\n').slice(0, -100)}`);
}

const first = await pipeline(
  localFiles('out/received'),
  jsonLines(),
  activities(),
  files({
    path: 'out/posts/{day}.jsonl',
    checkpoint: 'out/posts.json',
    damaged: 'out/damaged/received.jsonl',
  }),
);
console.log(`${first.posts} posts, ${first.damaged} damaged records`);

if (first.damaged) {
  const again = await pipeline(
    localFiles('out/damaged/received.jsonl'),
    jsonLines(),
    perBatch<Buffer, Buffer>(lines => lines.flatMap(mended)),
    // The repaired records pass the same stages as in the first run.
    jsonLines(),
    activities(),
    files({
      path: 'out/posts/{day}.mended.jsonl',
      checkpoint: 'out/mended.json',
      damaged: 'out/damaged/mended.jsonl',
    }),
  );
  console.log(`${again.posts} posts mended, still damaged: ${again.damaged}`);
}

/** Returns the post of an event. Other records stay unchanged. */
function mended(line: Buffer): Buffer[] {
  const { text, base64 = '' } = JSON.parse(line.toString());
  const record = text === undefined ? Buffer.from(base64, 'base64') : Buffer.from(text.replace(/^data: /, ''));
  return [record, Buffer.from('\n')];
}
