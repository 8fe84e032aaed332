import { openSync, writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { inflatedFile } from '../inflated-file.js';
import type { Task } from './by-hand.js';
import { SharedIds } from './shared-ids.js';

interface Target {
  readonly file: number;
  readonly bytes: Buffer;
  length: number;
}

const task = workerData as Task;
const ids = new SharedIds(task.ids);
const targets = new Map<string, Target>();
/**
 * The output files by the list of matching rules, as it is written in a post. Many posts have the
 * same list, so each distinct list is parsed only once.
 */
const targetsOfRules = new Map<string, readonly Target[]>();

for (let at = next(); at < task.files.length; at = next())
  readLines(inflatedFile(task.files[at] as string));
for (const target of targets.values()) write(target);

function next(): number {
  return Atomics.add(task.next, 0, 1);
}

function readLines(bytes: Buffer): void {
  for (let start = 0, end = 0; start < bytes.length; start = end + 1) {
    end = bytes.indexOf(0x0a, start);
    if (end === -1) end = bytes.length - 1;
    const id = bytes.indexOf('"id_str":"', start, 'latin1') + 10;
    if (!ids.add(bytes, id)) continue;
    const rules = bytes.lastIndexOf('"matching_rules":', end, 'latin1');
    for (const target of targetsOf(bytes.toString('latin1', rules + 17, end - 1))) {
      const length = end + 1 - start;
      if (target.length + length > target.bytes.length) write(target);
      bytes.copy(target.bytes, target.length, start, end + 1);
      target.length += length;
    }
  }
}

function targetsOf(rules: string): readonly Target[] {
  let found = targetsOfRules.get(rules);
  if (found === undefined) {
    const tags = (JSON.parse(rules) as { tag: string | null }[]).flatMap(({ tag }) => tag ?? []);
    found = [...new Set(tags.length > 0 ? tags : ['untagged'])].map(targetOf);
    targetsOfRules.set(rules, found);
  }
  return found;
}

function targetOf(tag: string): Target {
  let target = targets.get(tag);
  if (target === undefined) {
    const file = openSync(`${task.out}/${tag}.jsonl`, 'a');
    target = { file, bytes: Buffer.allocUnsafeSlow(1024 * 1024), length: 0 };
    targets.set(tag, target);
  }
  return target;
}

/** Appends whole lines to a file, after the lines that the other thread has written. */
function write(target: Target): void {
  for (let done = 0; done < target.length; )
    done += writeSync(target.file, target.bytes, done, target.length - done);
  target.length = 0;
}
