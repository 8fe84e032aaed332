import { spawn } from 'node:child_process';
import type { Work } from '../question.js';

// jq 1.6 rounds 64-bit numbers when it prints a post, but `id_str` stays exact because it is a
// string.
const FILTER =
  'select(.id_str) | ([.matching_rules[]?.tag | select(. != null)] | unique) as $tags | ' +
  '(if $tags == [] then ["untagged"] else $tags end)[] as $tag | "\\(.id_str)\\t\\($tag)\\t\\(tojson)"';
const AWK =
  '{ tab = index($0, "\\t"); rest = substr($0, tab + 1); tab2 = index(rest, "\\t"); ' +
  'id = substr($0, 1, tab - 1); tag = substr(rest, 1, tab2 - 1); key = id "\\t" tag; ' +
  'if (!(key in seen)) { seen[key] = 1; print substr(rest, tab2 + 1) > (out "/" tag ".jsonl") } }';

export async function run({ files, out }: Work): Promise<void> {
  const shell = spawn(
    'bash',
    [
      '-c',
      `set -o pipefail; xargs zcat | jq -r '${FILTER}' | LC_ALL=C awk -v out="$1" '${AWK}'`,
      'bash',
      out,
    ],
    { stdio: ['pipe', 'inherit', 'inherit'] },
  );
  shell.stdin.end(files.join('\n'));
  const code = await new Promise(resolve => shell.on('close', resolve));
  if (code !== 0) throw new Error(`zcat, jq and awk ended with exit code ${code}`);
}
