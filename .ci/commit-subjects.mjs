#!/usr/bin/env node
// Refuses commit subjects of more than 72 characters. With a file argument, as git's commit-msg
// hook passes it, checks the message in that file. Otherwise, checks the commits of this branch
// that are not on main yet. If there are none, or main is unknown, as in a shallow clone, checks
// the last commit.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const LIMIT = 72;

/** Returns the output of git, or undefined if it fails. */
function git(...args) {
  const { status, stdout, error } = spawnSync('git', args, { encoding: 'utf8' });
  if (error) throw error;
  return status === 0 ? stdout.trim() : undefined;
}

function subjectsSinceMain() {
  const log = ['log', '--no-merges', '--format=%s'];
  const base = ['origin/main', 'main'].map(main => git('merge-base', main, 'HEAD')).find(Boolean);
  const subjects = base && git(...log, `${base}..HEAD`);
  return (subjects || git(...log, '--max-count=1') || '').split('\n');
}

/**
 * Returns the subject as git does: the first paragraph on one line. A fixup repeats the subject of
 * another commit.
 */
function subjectOf(message) {
  const lines = message.split(/\r?\n/).filter(line => !line.startsWith('#'));
  const [first = ''] = lines
    .join('\n')
    .trim()
    .split(/\n\s*\n/);
  return first.replaceAll('\n', ' ').replace(/^(?:(?:fixup|squash|amend)! )+/, '');
}

const [file] = process.argv.slice(2);
const subjects = file === undefined ? subjectsSinceMain() : [subjectOf(readFileSync(file, 'utf8'))];
const long = subjects.filter(subject => [...subject].length > LIMIT);
for (const subject of long)
  console.error(
    `A commit subject has ${[...subject].length} characters, and the limit is ${LIMIT}: ${subject}`,
  );
process.exitCode = long.length > 0 ? 1 : 0;
