import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const SOURCE = path.resolve(import.meta.dirname, '../src');

/** Each room, and the rooms that its files may import from. A room may always use its own files. */
const ARROWS: Record<string, readonly string[]> = {
  errors: [],
  time: ['errors'],
  closest: [],
  check: ['errors', 'time', 'closest'],
  progress: [],
  storage: ['errors', 'time'],
  'progress-display': ['check', 'progress', 'progress-text', 'errors', 'time'],
  'progress-text': ['progress', 'time'],
  abortable: [],
  'linked-abort': [],
  'minipass-streams': ['abortable', 'progress'],
  'write-to-stream': ['abortable'],
  'foreign-batches': ['abortable', 'progress', 'minipass-streams'],
  flow: ['errors', 'time', 'progress', 'foreign-batches'],
  activity: ['flow', 'errors', 'time', 'progress'],
  rules: ['check', 'closest', 'activity', 'flow', 'errors', 'time', 'progress'],
  tombstones: ['check', 'activity', 'flow', 'storage', 'errors', 'time'],
  client: ['abortable', 'linked-abort', 'check', 'activity', 'rules', 'errors', 'time', 'storage'],
  operators: [
    'check',
    'tombstones',
    'rules',
    'activity',
    'flow',
    'errors',
    'time',
    'progress',
    'abortable',
    'minipass-streams',
    'write-to-stream',
  ],
  archive: ['check', 'operators', 'tombstones', 'activity', 'flow', 'errors', 'storage'],
  sinks: [
    'abortable',
    'linked-abort',
    'check',
    'tombstones',
    'activity',
    'flow',
    'errors',
    'time',
    'progress',
    'storage',
  ],
  sources: [
    ...['operators', 'client', 'rules', 'activity', 'flow', 'errors', 'time', 'progress'],
    ...['storage', 'abortable', 'linked-abort', 'check'],
  ],
  'pipeline-arguments': [
    'check',
    ...['check', 'operators', 'flow', 'errors', 'progress-display', 'minipass-streams'],
  ],
  pipeline: [
    ...['check', 'operators', 'sinks', 'flow', 'errors', 'progress', 'progress-display'],
    ...['pipeline-arguments', 'minipass-streams', 'write-to-stream'],
  ],
  service: ['check', 'rules', 'activity', 'operators', 'flow', 'storage', 'errors', 'time'],
  index: [
    ...['pipeline', 'sources', 'operators', 'sinks', 'client', 'rules', 'activity', 'flow'],
    ...['archive', 'tombstones', 'pipeline-arguments', 'minipass-streams', 'write-to-stream'],
    ...['errors', 'time', 'progress', 'progress-display'],
  ],
};

/** The room of a file: its folder under `src`, or its own name at the top. */
function roomOf(file: string): string {
  const [first = ''] = path.relative(SOURCE, file).split(path.sep);
  return first.replace(/\.[jt]s$/, '');
}

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => path.join(entry.parentPath, entry.name));
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g)].map(match =>
    path.resolve(path.dirname(file), match[1] as string),
  );
}

describe('imports point one way', () => {
  const files = sourceFiles(SOURCE);

  it('sees the whole source', () => {
    expect(files.length).toBeGreaterThan(10);
    expect([...new Set(files.map(roomOf))].filter(room => !(room in ARROWS))).toEqual([]);
  });

  it('holds for every file', () => {
    const wrong = files.flatMap(file => {
      const room = roomOf(file);
      return importsOf(file)
        .filter(target => roomOf(target) !== room && !ARROWS[room]?.includes(roomOf(target)))
        .map(target => `${path.relative(SOURCE, file)} -> ${path.relative(SOURCE, target)}`);
    });
    expect(wrong).toEqual([]);
  });
});
