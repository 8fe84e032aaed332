import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const SOURCE = path.resolve(import.meta.dirname, '../src');

const FOUNDATIONS = ['base', 'json', 'gzip', 'storage'];
const MACHINERY = [...FOUNDATIONS, 'http', 'post', 'rules', 'flow', 'files'];

const RULE_BASE = ['post', 'rules/tree', 'rules/post', 'rules/operators'];

const SERVICE_LEAVES = [
  'cache',
  'clock',
  'service-context',
  'event-loop-yield',
  'service-options',
  'stored-map',
  'temporary-folder',
].map(file => `service/${file}`);
const SERVICE_BASE = ['rules', 'post', ...FOUNDATIONS, ...SERVICE_LEAVES];
const SERVICE_FAMILY = [...SERVICE_BASE, 'service/http', 'service/archive'];

/**
 * Maps each folder (or file at the top of `src`) to the folders from which its files may import.
 * The files of a folder may always import each other. A folder that is not listed has the entry of
 * its parent.
 */
const ARROWS: Record<string, readonly string[]> = {
  base: [],
  json: ['base'],
  gzip: ['base', 'json'],
  storage: ['base'],
  http: FOUNDATIONS,
  post: ['base', 'json'],
  // `files` contains the engine that reads and writes whole files. Sources, operators and sinks
  // import `files`, so it imports none of them.
  files: ['flow', 'base', 'gzip', 'json'],
  'rules/rules': ['rules'],
  'rules/tree': [],
  // `rules/post` extracts from a post the values that rules test. `rules/operators` tests these
  // values.
  'rules/post': ['post', 'rules/tree'],
  'rules/operators': ['post', 'rules/tree', 'rules/post'],
  'rules/language': [...RULE_BASE, 'base', 'json'],
  'rules/match': [...RULE_BASE, 'rules/language', 'base', 'json'],
  'rules/index': [...RULE_BASE, 'rules/language', 'rules/match', 'base', 'json'],
  'rules/pack-rules': [...RULE_BASE, 'rules/index', 'rules/language', 'base', 'json'],
  flow: ['base', 'json', 'gzip', 'post'],
  operators: ['flow', 'files', 'rules', 'post', ...FOUNDATIONS],
  // `tables` imports no family of endpoints, because each column defines what it reads from an
  // item. The two imports from `files` let threads encode rows.
  tables: [
    ...['post', 'flow', 'base', 'json', 'gzip'],
    ...['files/record-columns', 'files/encode-rows'],
  ],
  sinks: ['flow', 'files', 'post', 'tables', ...FOUNDATIONS],
  sources: ['flow', 'files', ...FOUNDATIONS],
  // `jetstream` is a separate entry point, so that nothing else loads the NATS client.
  jetstream: MACHINERY,
  search: MACHINERY,
  jobs: MACHINERY,
  replay: MACHINERY,
  usage: MACHINERY,
  users: MACHINERY,
  // `compliance` fetches the events of gaps in its connections with `replay`. It reads stored files
  // with `gunzip` and `jsonLines` of `operators`.
  compliance: [...MACHINERY, 'replay', 'operators'],
  // The `millrace` command reads the option tables of all families, loads the library, and starts
  // the local service.
  command: [
    ...MACHINERY,
    'index',
    'search',
    'jobs',
    'replay',
    'usage',
    'users',
    'compliance',
    'sinks',
    'tables',
    'service/cli',
  ],
  // The conformance check is a client that compares any service with the documentation.
  'command/conformance': [...FOUNDATIONS, 'http', 'post'],
  'service/cli': [...SERVICE_BASE, 'service', 'command/conformance'],
  service: [...SERVICE_BASE, 'service'],
  'service/clock': ['base'],
  'service/cache': [],
  'service/event-loop-yield': [],
  'service/stored-map': ['base', 'storage'],
  'service/temporary-folder': ['base'],
  'service/service-options': [
    ...['base', 'post', 'service/archive/archive'],
    // The table of all service options contains the options of each family of endpoints.
    ...['service/http/service-limits', 'service/users/applications'],
    ...['service/sample/sample-posts', 'service/posts/read-given'],
  ],
  // These imports are only types. They are the parts of the service that the handlers of all
  // families use.
  'service/service-context': [
    ...[...SERVICE_LEAVES, 'post', 'service/http', 'service/archive/archive'],
    ...['service/compliance/compliance-events', 'service/posts/posts', 'service/usage/usage-meter'],
    ...['service/replay/replay-log', 'service/replay/stream-rules'],
    ...['service/users/oauth-provider', 'service/users/signed-requests'],
  ],
  'service/http': SERVICE_BASE,
  'service/archive': SERVICE_BASE,
  'service/sample': [...SERVICE_BASE, 'service/archive'],
  'service/search': SERVICE_FAMILY,
  // Added posts look like generated ones, and compliance events can delete them.
  'service/posts': [...SERVICE_FAMILY, 'service/sample', 'service/compliance'],
  'service/jobs': SERVICE_FAMILY,
  'service/usage': SERVICE_FAMILY,
  'service/users': SERVICE_FAMILY,
  // A replay can also replay the compliance stream.
  'service/replay': [...SERVICE_FAMILY, 'service/compliance'],
  'service/compliance': SERVICE_FAMILY,
  'service/console': [...SERVICE_FAMILY, 'service'],
  // `worker` lists the functions that threads can run. Each column and each encoder is defined next
  // to its feature, so `worker` imports these features.
  worker: ['files/thread-calls', 'compliance', 'operators', 'sinks', 'tables'],
  index: [
    ...[...MACHINERY, 'operators', 'sinks', 'search', 'jobs', 'replay', 'usage', 'users'],
    ...['compliance', 'sources', 'tables/parquet/page-codec', 'tables/tables'],
  ],
};

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => path.join(entry.parentPath, entry.name));
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g)].map(match =>
    path.resolve(path.dirname(file), (match[1] as string).replace(/\.js$/, '.ts')),
  );
}

/**
 * Returns the files that Node loads together with a file: its imports, without types and without
 * dynamic imports.
 */
function loadedBy(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  return [
    ...text.matchAll(/^(?:import|export)\s+(?!type\b)(?:[^;'"]*?\sfrom\s+)?'([^']+)';/gm),
  ].map(match => {
    const name = match[1] as string;
    return name.startsWith('.')
      ? path.resolve(path.dirname(file), name.replace(/\.js$/, '.ts'))
      : name;
  });
}

function loadedWith(entry: string): ReadonlySet<string> {
  const loaded = new Set([entry]);
  for (const name of loaded)
    if (path.isAbsolute(name)) for (const next of loadedBy(name)) loaded.add(next);
  return loaded;
}

/** Forbidden imports that exist and still have to be removed. */
const EXCEPTIONS: readonly string[] = [];

function entryOf(file: string): string {
  const parts = path.relative(SOURCE, file).replace(/\.ts$/, '').split(path.sep);
  for (let length = parts.length; length > 0; length--) {
    const name = parts.slice(0, length).join('/');
    if (name in ARROWS) return name;
  }
  return parts.join('/');
}

function allows(from: string, to: string): boolean {
  const entry = entryOf(from);
  if (entry === entryOf(to)) return true;
  const target = path.relative(SOURCE, to).replace(/\.ts$/, '').split(path.sep).join('/');
  return (ARROWS[entry] ?? []).some(name => target === name || target.startsWith(`${name}/`));
}

function circlesOf(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  const visit = (file: string): void => {
    order.set(file, order.size);
    lowest.set(file, order.get(file)!);
    stack.push(file);
    for (const target of graph.get(file) ?? []) {
      if (!order.has(target)) visit(target);
      if (stack.includes(target))
        lowest.set(file, Math.min(lowest.get(file)!, lowest.get(target)!));
    }
    if (lowest.get(file) !== order.get(file)) return;
    const circle = stack.splice(stack.indexOf(file));
    if (circle.length > 1) circles.push(circle);
  };
  for (const file of graph.keys()) if (!order.has(file)) visit(file);
  return circles;
}

describe('the imports of the source files', () => {
  const files = filesIn(SOURCE);
  const graph = new Map(
    files.map(file => [file, importsOf(file).filter(target => files.includes(target))]),
  );

  it('have allowed directions defined for every file and folder in src', () => {
    expect(files.length).toBeGreaterThan(10);
    expect([...new Set(files.map(entryOf))].filter(entry => !(entry in ARROWS))).toEqual([]);
  });

  it('follow the allowed directions between folders', () => {
    const wrong = files.flatMap(file =>
      graph
        .get(file)!
        .filter(target => !allows(file, target))
        .map(target => `${path.relative(SOURCE, file)} -> ${path.relative(SOURCE, target)}`),
    );
    expect(wrong.filter(arrow => !EXCEPTIONS.includes(arrow))).toEqual([]);
    expect(EXCEPTIONS.filter(arrow => !wrong.includes(arrow))).toEqual([]);
  });

  it('form no cycles, even through type imports', () => {
    const circles = circlesOf(graph).map(circle => circle.map(file => path.relative(SOURCE, file)));
    expect(circles).toEqual([]);
  });
});

describe('a WebAssembly module', () => {
  const texts = new Map(
    filesIn(SOURCE).map(file => [path.relative(SOURCE, file), readFileSync(file, 'utf8')]),
  );
  const namesOf = (pattern: RegExp) =>
    [...texts].filter(([, text]) => pattern.test(text)).map(([file]) => file);
  const OWNERS = [
    'json/object-lines.ts',
    'post/bytes/find-members.ts',
    'tables/parquet/value-encoder.ts',
  ];

  it('is instantiated by one file only, which is in the same folder', () => {
    const modules = [...texts.keys()].filter(file => file.endsWith('-wasm.ts'));
    const owners = modules.map(file => namesOf(new RegExp(`/${path.basename(file, '.ts')}\\.js'`)));
    expect(owners.flat().toSorted()).toEqual(OWNERS);
    for (const [index, module] of modules.entries())
      expect(owners[index]!.map(path.dirname)).toEqual([path.dirname(module)]);
    expect(namesOf(/\bnew WebAssembly\./)).toEqual(OWNERS);
  });

  it('is instantiated by a file that exports no memory address', () => {
    for (const owner of OWNERS) expect(texts.get(owner)).not.toMatch(/^export const \w+ = [\d(]/m);
  });
});

describe('importing millrace', () => {
  const loaded = [...loadedWith(path.join(SOURCE, 'index.ts'))];

  it('loads no large package such as lmdb or undici', () => {
    const packages = loaded.filter(name => !path.isAbsolute(name) && !name.startsWith('node:'));
    expect(packages.toSorted()).toEqual([
      ...['asciichart', 'fastest-levenshtein', 'minipass', 'minizlib', 'oauth-1.0a', 'p-limit'],
      'string-width',
    ]);
    expect(loaded).not.toContain('node:tls');
  });

  it('loads no file of the local service or of millrace/jetstream', () => {
    const files = loaded.filter(path.isAbsolute).map(file => path.relative(SOURCE, file));
    expect(files.length).toBeGreaterThan(100);
    expect(files.filter(file => /^(?:service|jetstream)\//.test(file))).toEqual([]);
  });
});
